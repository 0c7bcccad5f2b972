package kubernetes

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	template "text/template/parse"

	"github.com/plimsoll-bench/plimsoll/deploy"
)

// render renders the templates of the chart. They quote all values, whatever is in them.
//
// It understands of Go's templates what the chart uses: values, printf and if. Package text/template would keep all
// exported methods in the program ([github.com/plimsoll-bench/plimsoll/internal/markup] says why).
func render(values map[string]any) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range []string{"job.yaml", "secret.yaml", "networkpolicy.yaml"} {
		text, err := fs.ReadFile(deploy.Agents, path.Join(chart, name))
		if err != nil {
			return nil, err
		}
		trees, err := template.Parse(name, string(text), "", "", map[string]any{"printf": fmt.Sprintf})
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		if err := renderNode(&out, trees[name].Root, values); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Bytes(), nil
}

func renderNode(out *bytes.Buffer, node template.Node, values map[string]any) error {
	switch n := node.(type) {
	case *template.TextNode:
		out.Write(n.Text)
	case *template.ActionNode:
		v, err := evaluate(n.Pipe, values)
		if err != nil {
			return err
		}
		fmt.Fprint(out, v)
	case *template.IfNode:
		v, err := evaluate(n.Pipe, values)
		if err != nil {
			return err
		}
		if v != "" {
			return renderNode(out, n.List, values)
		}
		if n.ElseList != nil {
			return renderNode(out, n.ElseList, values)
		}
	case *template.ListNode:
		for _, one := range n.Nodes {
			if err := renderNode(out, one, values); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("the program does not render %s", node)
	}
	return nil
}

// evaluate returns the value of a pipeline. Each command gets the value of the one before as its last argument.
func evaluate(pipe *template.PipeNode, values map[string]any) (value any, err error) {
	for i, c := range pipe.Cmds {
		var args []any
		for _, a := range c.Args {
			switch n := a.(type) {
			case *template.FieldNode:
				var of any = values
				for _, name := range n.Ident {
					m, ok := of.(map[string]any)
					if of, ok = m[name], ok && m[name] != nil; !ok {
						return nil, fmt.Errorf("there is no value %s", n)
					}
				}
				args = append(args, of)
			case *template.StringNode:
				args = append(args, n.Text)
			case *template.IdentifierNode: // only printf is defined
			default:
				return nil, fmt.Errorf("the program does not render %s", n)
			}
		}
		if i > 0 {
			args = append(args, value)
		}
		if value = args[0]; len(args) > 1 {
			format, _ := args[0].(string)
			value = fmt.Sprintf(format, args[1:]...)
		}
	}
	return value, nil
}

// Package deploy has the Helm chart of load agents. The program renders the same templates, so both make the same
// objects.
package deploy

import "embed"

// Agents has the chart below the directory helm/plimsoll-agents.
//
//go:embed helm/plimsoll-agents
var Agents embed.FS

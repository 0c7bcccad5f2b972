// Package command breaks a deployment that Plimsoll did not make, with commands of the user.
package command

// Package command breaks a deployment that Plimsoll did not make, with commands of the user.
//
// A [Platform] knows the members from the file that the user wrote, and their roles from the deployment. A fault is
// written into a journal before its command runs, so that [HealAll] can revert what a killed process left behind. A
// fault counts only if the user's witness command and Plimsoll's own connection to the member agree about its effect.
package command

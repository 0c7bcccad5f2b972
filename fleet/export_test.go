package fleet

// RoleVariable is for tests of other packages in this directory.
const RoleVariable = roleVariable

package main

const limitVerdict = "`plimsoll capacity`: what limits"

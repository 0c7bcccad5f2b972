package main

const diskVerdict = "`plimsoll disk`: the storage is *honest*, and the result is that of the storage"

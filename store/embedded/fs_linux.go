package embedded

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem returns the type of dir's file system by the magic numbers of statfs(2). volatile: it is in memory.
func fileSystem(dir string) (name string, volatile bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown (" + err.Error() + ")", false
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
		unix.NFS_SUPER_MAGIC: "nfs", unix.F2FS_SUPER_MAGIC: "f2fs", unix.V9FS_MAGIC: "9p",
		unix.FUSE_SUPER_MAGIC: "fuse", unix.CEPH_SUPER_MAGIC: "ceph", unix.SMB2_SUPER_MAGIC: "smb",
		0x2FC12FC1: "zfs",
	}
	magic := int64(st.Type) & 0xFFFFFFFF
	if n, ok := names[magic]; ok {
		return n, magic == unix.TMPFS_MAGIC || magic == unix.RAMFS_MAGIC
	}
	return fmt.Sprintf("0x%x", magic), false
}

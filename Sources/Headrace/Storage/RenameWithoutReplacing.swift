import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// Renames a file in one step; fails with `EEXIST` if the new path exists.
func renameWithoutReplacing(_ path: String, _ newPath: String) -> Int32 {
    #if canImport(Darwin)
    renamex_np(path, newPath, UInt32(RENAME_EXCL))
    #else
    path.withCString { path in newPath.withCString { hr_rename_exclusive(path, $0) } }
    #endif
}

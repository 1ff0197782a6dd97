// Re-exports the modules that differ between platforms: the C library, and the part of Foundation that is used.
//
// The other targets import this module instead of a platform's own. Headrace does not re-export it, so that its clients
// do not get these names.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif

#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Darwin
#endif

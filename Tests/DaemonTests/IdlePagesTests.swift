// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Daemon

@Suite struct IdlePagesTests {
    @Test func onlyWhatCannotHaveChangedIsLetGo() {
        func mapping(_ head: String, anonymous: Int) -> String {
            "\(head)\nSize: 64 kB\nRss: 64 kB\nAnonymous:      \(anonymous) kB\nVmFlags: rd mr mw me"
        }
        let maps = [
            mapping("55d0c0000000-55d0c0400000 r--p 00000000 fe:00 4711 /usr/bin/tapedeck", anonymous: 0),
            mapping("55d0c0400000-55d0c2000000 r-xp 00400000 fe:00 4711 /usr/bin/tapedeck", anonymous: 0),
            mapping("55d0c2000000-55d0c2100000 r--p 02000000 fe:00 4711 /usr/bin/tapedeck", anonymous: 12),
            mapping("55d0c2100000-55d0c2200000 rw-p 02100000 fe:00 4711 /usr/bin/tapedeck", anonymous: 0),
            mapping("7f0000001000-7f0000002000 r-xp 00000000 fe:00 4712 /usr/lib/odd name.so", anonymous: 0),
            mapping("7f0000002000-7f0000003000 r--s 00000000 fe:00 4713 /var/lib/tapedeck/x", anonymous: 0),
            mapping("7f0000003000-7f0000004000 r--p 00000000 00:00 0", anonymous: 0),
            mapping("7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0 [vdso]", anonymous: 0),
            mapping("9-8 r-xp 0 0 0 /x", anonymous: 0), "7f0000009000-7f000000a000 r-xp 0 fe:00 1 /cut off",
        ].joined(separator: "\n")
        #expect(
            IdlePages.cleanRanges(in: maps) == [
                0x55d0_c000_0000..<0x55d0_c040_0000, 0x55d0_c040_0000..<0x55d0_c200_0000,
                0x7f00_0000_1000..<0x7f00_0000_2000,
            ]
        )
    }
}

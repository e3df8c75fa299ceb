// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import Platform

@Suite
struct DigestsTests {
    /// FIPS 180-4's examples, as NIST publishes them.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func hashesAsTheStandardSays(text: String, expected: String) {
        #expect(SHA256Digest(of: text.utf8).hexadecimal == expected)
    }

    @Test
    func piecesAreHashedAsTheWhole() {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for size in [1, 63, 64, 65, 1000, 99_999] {
            let hash = SHA256Hash()
            for start in stride(from: 0, to: bytes.count, by: size) {
                hash.update(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(hash.digest == SHA256Digest(of: bytes))
        }
    }

    @Test
    func aPrefixIsTheBeginningOfTheDigestAndBeginsAnew() {
        let hash = SHA256Hash()
        for text in ["abc", "", "abcd", "abc"] {
            text.utf8.withContiguousStorageIfAvailable { hash.update(UnsafeRawBufferPointer($0)) }
            let digits = Hexadecimal.text(hash.takePrefix())
            #expect(SHA256Digest(of: text.utf8).hexadecimal.hasPrefix(digits) && digits.count == 16)
        }
    }

    @Test
    func aDigestDoesNotEndTheHash() {
        let hash = SHA256Hash()
        hash.update(Array("ab".utf8))
        #expect(hash.digest == SHA256Digest(of: "ab".utf8))
        hash.update(Array("c".utf8))
        #expect(hash.digest == SHA256Digest(of: "abc".utf8))
    }

    /// RFC 4231 test case 2, RFC 2202 test case 2, and RFC 4231 test case 6: a key longer than a block.
    @Test
    func authenticatesAsTheStandardsSay() throws {
        let message = Array("what do ya want for nothing?".utf8)
        #expect(
            Hexadecimal.text(of: MessageAuthentication.sha256(message, key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
        #expect(
            Hexadecimal.text(of: try MessageAuthentication.sha1(message, key: Array("Jefe".utf8)))
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        )
        let long = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        #expect(
            Hexadecimal.text(of: MessageAuthentication.sha256(long, key: [UInt8](repeating: 0xAA, count: 131)))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        )
        #expect(MessageAuthentication.sha256([], key: []).count == 32)
    }

    /// RFC 1321 appendix A.5.
    @Test
    func md5IsThatOfTheStandard() throws {
        #expect(Hexadecimal.text(of: try md5([])) == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(Hexadecimal.text(of: try md5(Array("message digest".utf8))) == "f96b697d7cb7938d525a2f31aaf161d0")
    }

    /// As a libcrypto in FIPS mode, which has no MD5: nothing ends the process.
    @Test
    func aHashThatIsMissingIsAnError() {
        let error = #expect(throws: MissingHash.self) { try md5(Array("message".utf8), nil) }
        #expect(error?.description == "libcrypto has no MD5 on this host")
        #expect(MessageAuthentication.code(Array("message".utf8), Array("key".utf8), nil, count: 20) == nil)
    }
}

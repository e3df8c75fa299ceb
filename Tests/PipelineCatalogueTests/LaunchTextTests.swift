// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PipelineCatalogue

struct LaunchTextTests {
    @Test(arguments: [
        ("a ! b", ["a", "b"], []),
        ("a name=x y=1 ! b\n  ! c name=\"z\"", ["a", "b", "c"], ["x", "z"]),
        // A second chain begins where no link continues.
        ("a name=x ! b c ! d", ["a", "b", "c", "d"], ["x"]),
        // A reference to an element and one to its pad are no elements; caps are none either.
        ("a name=x x. ! b x.src_0 ! video/x-raw,width=1,name=no ! c", ["a", "b", "c"], ["x"]),
        ("a ! video/x-raw, width=1, height=(int)2 ! b", ["a", "b"], []),
        // Quotes hold words together.
        ("a text=\"b ! c name=d\" ! e", ["a", "e"], []),
        ("a text='name=d' name=f", ["a"], ["f"]),
        ("a text=b\\ !\\ c ! d", ["a", "d"], []),
        ("", [], []), ("!", [], []), ("\"", [], []), ("name=x", [], ["x"]), ("a !", ["a"], []),
    ])
    func elementsAndNamesAreFound(text: String, elements: [String], names: [String]) {
        let launch = LaunchText(text)
        #expect(launch.elements == elements)
        #expect(launch.names == names)
    }
}

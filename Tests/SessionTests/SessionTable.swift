// SPDX-License-Identifier: Apache-2.0

/// The actions of every event in every state; a pair that is not listed does nothing.
///
/// First a state, then its events, each with the actions in order.
let sessionTable = """
    joining
       joined: joined
       peerArrived: start burst, open 1 offerer, start connect, createOffer 1
       peerAwaited: ignored notJoined
       offerSame: ignored notJoined
       offerNewer: ignored notJoined
       offerNewSession: ignored notJoined
       offerGarbage: ignored notJoined
       offerEcho: ignored notJoined
       answer: ignored notJoined
       candidate: ignored notJoined
       peerLeft: ignored unknownPeer
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: send leave, start stop
       left: lost
       ignored: ignored signalling
       signallerEnded: joinFailed, start stop, cancel stop, finished left
       stop: send leave, start stop
    joined
       joined: joined
       peerArrived: peerJoined, start burst, open 1 offerer, start connect, createOffer 1
       peerAwaited: start burst, open 1 offerer, createOffer 1
       offerSame: peerJoined, start burst, open 1 answerer, start connect, applyOffer 1
       offerNewer: peerJoined, start burst, open 1 answerer, start connect, applyOffer 1
       offerNewSession: peerJoined, start burst, open 1 answerer, start connect, applyOffer 1
       offerGarbage: ignored malformedDescription
       offerEcho: peerJoined, start burst, open 1 answerer, start connect, applyOffer 1
       answer: ignored unknownPeer
       peerLeft: ignored unknownPeer
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: lost, start stop, cancel stop, finished left
       stop: send leave, start stop
    offering
       joined: joined
       peerArrived: cancel connect, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel connect, close 1, open 2 offerer, createOffer 2
       offerSame: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewer: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewSession: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       peerLeft: cancel connect, close 1 when quiet, cancel burst, peerLeft
       full: cancel connect, close 1, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel connect, close 1, cancel burst, peerLeft, lost, start stop
       offerCreated: send offer
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: cancel connect, close 1, rebuilt, start backOff
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: cancel connect, close 1, rebuilt, start backOff
       connected: cancel connect, connected
       iceFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: cancel connect, close 1, failed, refused
       closed: cancel connect, failed, start resets, reset, send reset, start returning
       stop: cancel connect, close 1, cancel burst, peerLeft, send leave, start stop
       timer-connect: close 1, failed, start resets, reset, send reset, start returning
    awaitingAnswer
       joined: joined
       peerArrived: cancel connect, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel connect, close 1, open 2 offerer, createOffer 2
       offerSame: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewer: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewSession: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: ignored echo
       answer: applyAnswer 1
       peerLeft: cancel connect, close 1 when quiet, cancel burst, peerLeft
       full: cancel connect, close 1, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel connect, close 1, cancel burst, peerLeft, lost, start stop
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       connected: cancel connect, connected
       iceFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: cancel connect, close 1, failed, refused
       closed: cancel connect, failed, start resets, reset, send reset, start returning
       stop: cancel connect, close 1, cancel burst, peerLeft, send leave, start stop
       timer-connect: close 1, failed, start resets, reset, send reset, start returning
    answerApplied
       joined: joined
       peerArrived: cancel connect, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel connect, close 1, open 2 offerer, createOffer 2
       offerSame: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewer: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewSession: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: ignored echo
       answer: ignored duplicateAnswer
       candidate: add 1
       peerLeft: cancel connect, close 1 when quiet, cancel burst, peerLeft
       full: cancel connect, close 1, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel connect, close 1, cancel burst, peerLeft, lost, start stop
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       offerDeclined: cancel connect, close 1, failed
       descriptionRefused: cancel connect, close 1, failed
       negotiationFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       connected: cancel connect, connected
       iceFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: cancel connect, close 1, failed, refused
       closed: cancel connect, failed, start resets, reset, send reset, start returning
       stop: cancel connect, close 1, cancel burst, peerLeft, send leave, start stop
       timer-connect: close 1, failed, start resets, reset, send reset, start returning
    standing
       joined: joined
       peerArrived: peerJoined, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: close 1, open 2 offerer, createOffer 2
       offerSame: peerJoined, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewer: peerJoined, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerNewSession: peerJoined, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: ignored echo
       answer: peerJoined, start connect, applyAnswer 1
       peerLeft: close 1 when quiet, cancel burst
       full: close 1, cancel burst, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: close 1, cancel burst, lost, start stop
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       offerDeclined: ignored unexpectedConnectionEvent
       rebuildNeeded: close 1, failed, start resets, reset, send reset, start returning
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       connected: connected
       iceFailed: close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: close 1, failed, refused
       closed: failed, start resets, reset, send reset, start returning
       stop: close 1, cancel burst, send leave, start stop
    answering
       joined: joined
       peerArrived: cancel connect, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel connect, close 1, open 2 offerer, createOffer 2
       offerSame: ignored duplicateOffer
       offerNewSession: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       candidate: add 1
       peerLeft: cancel connect, close 1 when quiet, cancel burst, peerLeft
       full: cancel connect, close 1, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel connect, close 1, cancel burst, peerLeft, lost, start stop
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: send answer
       rebuildNeeded: cancel connect, close 1, rebuilt, start backOff
       offerDeclined: send answer, cancel connect, close 1, failed
       descriptionRefused: cancel connect, close 1, failed
       negotiationFailed: cancel connect, close 1, rebuilt, start backOff
       connected: cancel connect, connected
       iceFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: cancel connect, close 1, failed, refused
       closed: cancel connect, failed, start resets, reset, send reset, start returning
       stop: cancel connect, close 1, cancel burst, peerLeft, send leave, start stop
       timer-connect: close 1, failed, start resets, reset, send reset, start returning
    answeringWithNext
       joined: joined
       peerArrived: cancel connect, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel connect, close 1, open 2 offerer, createOffer 2
       offerSame: ignored supersededOffer
       offerNewer: ignored supersededOffer
       offerNewSession: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       peerLeft: cancel connect, close 1 when quiet, cancel burst, peerLeft
       full: cancel connect, close 1, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel connect, close 1, cancel burst, peerLeft, lost, start stop
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored supersededOffer, applyOffer 1
       rebuildNeeded: cancel connect, close 1, rebuilt, start backOff
       offerDeclined: cancel connect, close 1, failed, open 2 answerer, start connect, applyOffer 2
       descriptionRefused: cancel connect, close 1, failed, open 2 answerer, start connect, applyOffer 2
       negotiationFailed: cancel connect, close 1, rebuilt, start backOff
       connected: cancel connect, connected
       iceFailed: cancel connect, close 1, failed, start resets, reset, send reset, start returning
       authenticityFailed: cancel connect, close 1, failed, refused
       closed: cancel connect, failed, start resets, reset, send reset, start returning
       stop: cancel connect, close 1, cancel burst, peerLeft, send leave, start stop
       timer-connect: close 1, failed, start resets, reset, send reset, start returning
    connected
       joined: joined
       peerArrived: close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       offerSame: ignored duplicateOffer, send answer
       offerNewer: applyOffer 1
       offerNewSession: close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       candidate: add 1
       peerLeft: close 1 when quiet, cancel burst, peerLeft
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: lost
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: close 1, failed, start resets, reset, send reset, start returning
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       iceDisconnected: start disconnected, disconnected
       iceFailed: close 1, failed, start resets, reset, send reset, start returning
       mediaSilent: start stale, stale
       authenticityFailed: close 1, failed, refused
       closed: failed, start resets, reset, send reset, start returning
       stop: close 1, cancel burst, peerLeft, send leave, start stop
    renegotiating
       joined: joined
       peerArrived: close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       offerNewSession: close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       candidate: add 1
       peerLeft: close 1 when quiet, cancel burst, peerLeft
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: lost
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: send answer
       rebuildNeeded: close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerDeclined: ignored refusedDescription
       descriptionRefused: ignored refusedDescription
       negotiationFailed: close 1, rebuilt, start backOff
       localCandidate: send candidate
       iceDisconnected: start disconnected, disconnected
       iceFailed: close 1, failed, start resets, reset, send reset, start returning
       mediaSilent: start stale, stale
       authenticityFailed: close 1, failed, refused
       closed: failed, start resets, reset, send reset, start returning
       stop: close 1, cancel burst, peerLeft, send leave, start stop
    disconnected
       joined: joined
       peerArrived: cancel disconnected, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       offerSame: ignored duplicateOffer, send answer
       offerNewer: applyOffer 1
       offerNewSession: cancel disconnected, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel disconnected, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       candidate: add 1
       peerLeft: cancel disconnected, close 1 when quiet, cancel burst, peerLeft
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: lost
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: cancel disconnected, close 1, failed, start resets, reset, send reset, start returning
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: cancel disconnected, close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       connected: cancel disconnected, recovered
       iceFailed: cancel disconnected, close 1, failed, start resets, reset, send reset, start returning
       mediaSilent: start stale, stale
       authenticityFailed: cancel disconnected, close 1, failed, refused
       closed: cancel disconnected, failed, start resets, reset, send reset, start returning
       stop: cancel disconnected, close 1, cancel burst, peerLeft, send leave, start stop
       timer-disconnected: close 1, failed, start resets, reset, send reset, start returning
    stale
       joined: joined
       peerArrived: cancel stale, close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       offerSame: ignored duplicateOffer, send answer
       offerNewer: applyOffer 1
       offerNewSession: cancel stale, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel stale, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       candidate: add 1
       peerLeft: cancel stale, close 1 when quiet, cancel burst, peerLeft
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: lost
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: cancel stale, close 1, failed, start resets, reset, send reset, start returning
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: cancel stale, close 1, failed, start resets, reset, send reset, start returning
       localCandidate: send candidate
       iceDisconnected: start disconnected, disconnected
       iceFailed: cancel stale, close 1, failed, start resets, reset, send reset, start returning
       mediaHeard: cancel stale, recovered
       authenticityFailed: cancel stale, close 1, failed, refused
       closed: cancel stale, failed, start resets, reset, send reset, start returning
       stop: cancel stale, close 1, cancel burst, peerLeft, send leave, start stop
       timer-stale: close 1, failed, start resets, reset, send reset, start returning
    waiting
       joined: joined
       peerArrived: cancel backOff, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel backOff, open 2 offerer, createOffer 2
       offerSame: ignored duplicateOffer
       offerNewer: ignored supersededOffer
       offerNewSession: ignored supersededOffer
       offerGarbage: ignored malformedDescription
       offerEcho: ignored supersededOffer
       answer: ignored answerWithoutOffer
       peerLeft: cancel backOff, cancel burst, peerLeft
       full: cancel backOff, cancel burst, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel backOff, cancel burst, peerLeft, lost, start stop
       stop: cancel backOff, cancel burst, peerLeft, send leave, start stop
       timer-backOff: open 2 answerer, start connect, applyOffer 2
    idle
       joined: joined
       peerArrived: cancel resets, cancel returning, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel returning, open 2 offerer, createOffer 2
       offerSame: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerNewer: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerNewSession: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel returning, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       full: cancel burst, cancel resets, cancel returning, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel burst, cancel resets, cancel returning, peerLeft, lost, start stop
       stop: cancel burst, cancel resets, cancel returning, peerLeft, send leave, start stop
       timer-returning: peerLeft
    givenUp
       joined: joined
       peerArrived: cancel resets, open 5 offerer, start connect, createOffer 5
       peerAwaited: ignored givenUpPeer
       offerSame: ignored givenUpPeer
       offerNewer: ignored givenUpPeer
       offerNewSession: ignored givenUpPeer
       offerGarbage: ignored malformedDescription
       offerEcho: ignored givenUpPeer
       answer: ignored answerWithoutOffer
       peerLeft: cancel burst, cancel resets, peerLeft
       full: cancel burst, cancel resets, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel burst, cancel resets, peerLeft, lost, start stop
       stop: cancel burst, cancel resets, peerLeft, send leave, start stop
       timer-resets: start resets, reset, send reset, start returning
    detached
       joined: joined
       peerArrived: close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: ignored notJoined
       offerSame: ignored notJoined
       offerNewer: ignored notJoined
       offerNewSession: ignored notJoined
       offerGarbage: ignored notJoined
       offerEcho: ignored notJoined
       answer: ignored notJoined
       candidate: ignored notJoined
       peerLeft: close 1 when quiet, cancel burst, peerLeft
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       left: lost
       ignored: ignored signalling
       signallerEnded: lost
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: close 1, failed, start returning
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: close 1, failed, start returning
       iceDisconnected: start disconnected, disconnected
       iceFailed: close 1, failed, start returning
       mediaSilent: start stale, stale
       authenticityFailed: close 1, failed, start returning, refused
       closed: failed, start returning
       stop: close 1, cancel burst, peerLeft, send leave, start stop
    endedAway
       joined: joined, cancel returning, start returning
       peerArrived: cancel returning, open 2 offerer, start connect, createOffer 2
       peerAwaited: ignored notJoined
       offerSame: ignored notJoined
       offerNewer: ignored notJoined
       offerNewSession: ignored notJoined
       offerGarbage: ignored notJoined
       offerEcho: ignored notJoined
       answer: ignored notJoined
       candidate: ignored notJoined
       peerLeft: cancel burst, cancel returning, peerLeft
       full: cancel burst, cancel returning, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: cancel burst, cancel returning, peerLeft, send leave, start stop
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel burst, cancel returning, peerLeft, lost, start stop
       stop: cancel burst, cancel returning, peerLeft, send leave, start stop
       timer-returning: peerLeft
    endedAwayJoined
       joined: joined, cancel returning, start returning
       peerArrived: cancel returning, open 2 offerer, start connect, createOffer 2
       peerAwaited: peerLeft, cancel returning, open 2 offerer, createOffer 2
       offerSame: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerNewer: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerNewSession: cancel returning, open 2 answerer, start connect, applyOffer 2
       offerGarbage: ignored malformedDescription
       offerEcho: cancel returning, open 2 answerer, start connect, applyOffer 2
       answer: ignored answerWithoutOffer
       peerLeft: cancel burst, cancel returning, peerLeft
       full: cancel burst, cancel returning, peerLeft, full
       joinFailed: joinFailed
       signallingLost: lost
       attemptsSpent: ignored signalling
       left: lost
       ignored: ignored signalling
       signallerEnded: cancel burst, cancel returning, peerLeft, lost, start stop
       stop: cancel burst, cancel returning, peerLeft, send leave, start stop
       timer-returning: peerLeft, start resets, reset, send reset, start returning
    orphaned
       joined: ignored notJoined
       peerArrived: ignored notJoined
       peerAwaited: ignored notJoined
       offerSame: ignored notJoined
       offerNewer: ignored notJoined
       offerNewSession: ignored notJoined
       offerGarbage: ignored notJoined
       offerEcho: ignored notJoined
       answer: ignored notJoined
       candidate: ignored notJoined
       peerLeft: close 1 when quiet, cancel burst, peerLeft, start stop
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       left: lost
       ignored: ignored signalling
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, start stop
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, start stop
       iceDisconnected: start disconnected, disconnected
       iceFailed: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, start stop
       mediaSilent: start stale, stale
       authenticityFailed: close 1, failed, start returning, refused, cancel burst, cancel returning, peerLeft, start stop
       closed: failed, start returning, cancel burst, cancel returning, peerLeft, start stop, cancel stop, finished left
       stop: close 1, cancel burst, peerLeft, start stop
    orphanedTrying
       joined: joined
       peerArrived: close 1, rebuilt, open 2 offerer, start connect, createOffer 2
       peerAwaited: ignored notJoined
       offerSame: ignored notJoined
       offerNewer: ignored notJoined
       offerNewSession: ignored notJoined
       offerGarbage: ignored notJoined
       offerEcho: ignored notJoined
       answer: ignored notJoined
       candidate: ignored notJoined
       peerLeft: close 1 when quiet, cancel burst, peerLeft, send leave, start stop
       full: full
       joinFailed: joinFailed
       signallingLost: lost
       left: lost
       ignored: ignored signalling
       offerCreated: ignored unexpectedConnectionEvent
       answerCreated: ignored unexpectedConnectionEvent
       rebuildNeeded: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, send leave, start stop
       offerDeclined: ignored unexpectedConnectionEvent
       descriptionRefused: ignored unexpectedConnectionEvent
       negotiationFailed: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, send leave, start stop
       iceDisconnected: start disconnected, disconnected
       iceFailed: close 1, failed, start returning, cancel burst, cancel returning, peerLeft, send leave, start stop
       mediaSilent: start stale, stale
       authenticityFailed: close 1, failed, start returning, refused, cancel burst, cancel returning, peerLeft, send leave, start stop
       closed: failed, start returning, cancel burst, cancel returning, peerLeft, send leave, start stop
       stop: close 1, cancel burst, peerLeft, send leave, start stop
    stopping
       timer-stop: finished stopped
    finished
    """

// Ctrl-C: the first signal asks to stop, the second ends the process, and an echo of the first does not count.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import { createStopSignal, REPEATED_SIGNAL_MS } from '../../../src/cli/shared/stop-signal.ts'

function signalled() {
  const emitter = new EventEmitter()
  const exits: number[] = []
  const time = { now: 0 }
  const target = Object.assign(emitter, { exit: (code: number) => void exits.push(code) })
  return { emitter, exits, time, stop: createStopSignal(target, () => time.now) }
}

describe('createStopSignal', () => {
  test('the first signal aborts with its name', () => {
    const { emitter, exits, stop } = signalled()
    assert.equal(stop.aborted, false)
    emitter.emit('SIGINT')
    assert.deepEqual([stop.aborted, stop.reason, exits], [true, 'SIGINT', []])
  })

  test('an echo of it changes nothing, a second one exits with 130', () => {
    const { emitter, exits, time } = signalled()
    emitter.emit('SIGINT')
    time.now = REPEATED_SIGNAL_MS
    emitter.emit('SIGINT')
    assert.deepEqual(exits, [])
    time.now = REPEATED_SIGNAL_MS + 1
    emitter.emit('SIGINT')
    assert.deepEqual(exits, [130])
  })

  test('after SIGTERM it exits with 143', () => {
    const { emitter, exits, time, stop } = signalled()
    emitter.emit('SIGTERM')
    time.now = 1_000
    emitter.emit('SIGINT')
    assert.deepEqual([stop.reason, exits], ['SIGTERM', [143]])
  })
})

// What waits for readers of large answers: who is cut where it is too much, in which order, and who is not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  maxResponseBufferBytes,
  ReaderWork,
  ResponseBuffers,
  type ResponseReader,
} from '../../src/net/response-buffers.ts'
import { runToCompletion, type Steps } from '../../src/shared/time-slices.ts'
import { heldBytes } from '../helpers/heap.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { until } from '../helpers/server.ts'

const MOST = 1_000

function account(tell_ms?: number) {
  const { log, lines } = keptLog()
  const held = new ResponseBuffers(log, { most: MOST, ...(tell_ms === undefined ? {} : { tell_ms }) })
  const cut: string[] = []
  /** Named by its owner first. */
  const reader = (name: string): ResponseReader => held.createReader(name[0]!, () => cut.push(name))
  return { cut, reader, lines }
}

describe('what waits for readers of large answers', () => {
  test('is cut of the owner with most, what has waited longest first, until it fits', () => {
    const { cut, reader } = account()
    for (const [name, bytes] of Object.entries({ b1: 150, a1: 200, a2: 300, a3: 350 })) reader(name).hold(bytes)
    assert.deepEqual(cut, [])
    reader('a4').hold(400)
    assert.deepEqual(cut, ['a1', 'a2'])
  })

  test('is not cut of owners with less, whoever comes', () => {
    const { cut, reader } = account()
    reader('b1').hold(400)
    reader('a1').hold(500)
    reader('c1').hold(150)
    assert.deepEqual(cut, ['a1'])
    for (let at = 0; at < 20; at++) reader(`a-${at}`).hold(200)
    assert.ok(!cut.some((name) => !name.startsWith('a')))
  })

  test('stays where it has just come, even if it is more than may be held', () => {
    const { cut, reader } = account()
    reader('a1').hold(MOST)
    reader('a2').hold(2 * MOST)
    assert.deepEqual(cut, ['a1'])
    reader('b1').hold(10)
    assert.deepEqual(cut, ['a1', 'a2'])
  })

  test('is cut where one connection holds ever more, and not where one answer counts in two forms', () => {
    const { cut, reader } = account()
    const one = reader('a1')
    for (let at = 0; at < 20; at++) one.hold(100)
    assert.deepEqual(cut, [])
    one.hold(100)
    assert.deepEqual([cut, one.hasEnded, one.heldBytes], [['a1'], true, 0])
  })

  test('of a reader who takes something is cut after that of those who do not', () => {
    const { cut, reader } = account()
    const [first, second] = [reader('a1'), reader('a2')]
    first.hold(400)
    second.hold(400)
    first.took()
    reader('a3').hold(400)
    assert.deepEqual(cut, ['a2'])
  })

  test('is given back once, and with the end of its connection', () => {
    const { cut, reader } = account()
    const [first, second] = [reader('a1'), reader('a2')]
    const release = first.hold(300)
    first.hold(300)
    release()
    release()
    assert.equal(first.heldBytes, 300)
    second.hold(600)
    second.end()
    release()
    assert.equal(second.heldBytes, 0)
    second.hold(900)
    reader('a3').hold(700)
    assert.deepEqual([cut, second.heldBytes], [[], 0])
  })

  test('counts once where it is one object, for as long as anybody holds it', () => {
    const { cut, reader } = account()
    const [first, second, third] = [reader('a1'), reader('a2'), reader('b1')]
    const object = {}
    const releases = [first, second, third].map((one) => one.share(object, 600))
    assert.deepEqual([first.heldBytes, second.heldBytes, third.heldBytes], [600, 0, 0])
    releases[0]!()
    assert.deepEqual([first.heldBytes, second.heldBytes, third.heldBytes], [0, 600, 0])
    second.end()
    releases[1]!()
    assert.deepEqual([second.heldBytes, third.heldBytes], [0, 600])
    reader('c1').hold(500)
    assert.deepEqual(cut, ['b1'])
    releases[2]!()
    releases[2]!()
    assert.equal(third.heldBytes, 0)
  })

  test('is told of in the log at once, and then together', async () => {
    const { reader, lines } = account(20)
    for (let at = 0; at < 4; at++) reader(`a${at}`).hold(MOST)
    const cut = () => lines.map((line) => (JSON.parse(line) as { cut: number }).cut)
    assert.deepEqual(cut(), [1])
    await until('the second line', () => lines.length === 2)
    assert.deepEqual(cut(), [1, 2])
  })

  test('may be two of the longest texts that a body makes, however small the heap is', () => {
    assert.ok(maxResponseBufferBytes(1_000_000_000_000) >= 4_000_000_000_000)
  })
})

describe('work for readers', () => {
  /** Work that waits for a turn that does not come, and what it works on. */
  function waiting() {
    const worked: string[] = []
    let weak: WeakRef<object> | undefined
    const steps = (value: object): Steps<string> => {
      weak = new WeakRef(value)
      return (function* () {
        worked.push(typeof value)
        yield
        return 'done'
      })()
    }
    let turn: () => void = () => {}
    const run = (begun: Steps<string>) =>
      new Promise<string>((resolve, reject) => {
        turn = () => {
          try {
            resolve(runToCompletion(begun))
          } catch (error) {
            reject(error)
          }
        }
      })
    const over: string[] = []
    const work = new ReaderWork(steps({ text: 'x'.repeat(1_000) }), run, () => over.push('over'))
    return { work, over, worked, turn: () => turn(), isHeld: () => weak?.deref() !== undefined }
  }
  const refused = { code: 'SERVICE_UNAVAILABLE' }

  test('is let go of when the last of them has ended, long before its turn', async () => {
    const { reader } = account()
    const [first, second] = [reader('a1'), reader('a2')]
    const { work, over, worked, turn, isHeld } = waiting()
    const [done, also] = [work.waitFor(first), work.waitFor(second)]
    first.end()
    await assert.rejects(done, refused)
    assert.deepEqual([over, isHeld()], [[], true])
    second.end()
    await assert.rejects(also, refused)
    assert.deepEqual(over, ['over'])
    await until('it to be collected', () => {
      heldBytes()
      return !isHeld()
    })
    const late = work.waitFor(reader('a3'))
    turn()
    await assert.rejects(late, refused)
    assert.deepEqual([over, worked], [['over'], []])
  })

  test('is done for those who are left', async () => {
    const { reader } = account()
    const { work, over, worked, turn } = waiting()
    const gone = reader('a1')
    const [left, done] = [work.waitFor(gone), work.waitFor(reader('a2'))]
    gone.end()
    turn()
    await assert.rejects(left, refused)
    assert.deepEqual([await done, worked, over], ['done', ['object'], ['over']])
  })

  test('is not begun for one who has ended', async () => {
    const { reader } = account()
    const { work, worked, turn } = waiting()
    const gone = reader('a1')
    gone.end()
    await assert.rejects(work.waitFor(gone), refused)
    turn()
    assert.deepEqual(worked, [])
  })
})

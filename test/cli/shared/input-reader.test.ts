// Reads files and standard input: in pieces, within the limit, and no longer than until the stop signal.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { InputReader } from '../../../src/cli/shared/input-reader.ts'
import { EXIT_CODES } from '../../../src/cli/shared/terminal.ts'
import { temporaryFolder } from '../../helpers/server.ts'
import { Screen } from '../kit.ts'

let folder: string
before(() => {
  folder = temporaryFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

function reader(stdin: Readable, stop = new AbortController().signal, limit = 100): InputReader {
  const screen = new Screen(80, 24)
  return new InputReader({ stdin, stdout: screen, stderr: screen, environment: {}, stop }, limit)
}

const endless = () => new Readable({ read() {} })

describe('standard input', () => {
  test('may arrive in pieces that cut a character', async () => {
    const bytes = Buffer.from('"a€"')
    const pieces = [...bytes].map((byte) => Buffer.of(byte))
    assert.equal(await reader(Readable.from(pieces)).json('-'), 'a€')
  })

  test('that never ends is abandoned at Ctrl-C', async () => {
    for (const [signal, code] of [
      ['SIGINT', EXIT_CODES.interrupted],
      ['SIGTERM', EXIT_CODES.terminated],
    ] as const) {
      const stop = new AbortController()
      const stdin = endless()
      const reading = reader(stdin, stop.signal).text('-')
      setImmediate(() => stop.abort(signal))
      await assert.rejects(reading, { code, message: 'stopped while reading standard input' })
      assert.ok(stdin.destroyed)
    }
  })

  test('is not awaited after the stop signal', async () => {
    await assert.rejects(reader(endless(), AbortSignal.abort('SIGINT')).text('-'), { code: EXIT_CODES.interrupted })
  })

  test('that is longer than the limit is left at the limit', async () => {
    let given = 0
    const stdin = new Readable({
      read() {
        given += 10
        this.push('x'.repeat(10))
      },
      highWaterMark: 10,
    })
    await assert.rejects(reader(stdin).text('-'), {
      code: EXIT_CODES.invalid,
      message: /^standard input is larger than 100 bytes/,
    })
    assert.ok(given < 200, `${given} bytes`)
  })

  test('that fails is reported', async () => {
    const stdin = new Readable({
      read() {
        this.destroy(Object.assign(new Error('it broke'), { code: 'EIO' }))
      },
    })
    await assert.rejects(reader(stdin).text('-'), {
      code: EXIT_CODES.usage,
      message: 'standard input cannot be read: EIO',
    })
  })
})

describe('a file', () => {
  test('of exactly the limit is read, one byte more is not', async () => {
    const path = join(folder, 'text')
    writeFileSync(path, 'x'.repeat(100))
    assert.equal((await reader(endless()).text(path)).length, 100)
    writeFileSync(path, 'x'.repeat(101))
    await assert.rejects(reader(endless()).text(path), { code: EXIT_CODES.invalid })
  })

  test('that is a pipe is read when its writer comes', async () => {
    const path = join(folder, 'pipe')
    execFileSync('mkfifo', [path])
    const reading = reader(endless()).json(path)
    setImmediate(() => writeFileSync(path, '[1]'))
    assert.deepEqual(await reading, [1])
  })

  test('that is a pipe without a writer is abandoned at Ctrl-C', async () => {
    const path = join(folder, 'silent')
    execFileSync('mkfifo', [path])
    const stop = new AbortController()
    const reading = reader(endless(), stop.signal).text(path)
    setImmediate(() => stop.abort('SIGINT'))
    await assert.rejects(reading, { code: EXIT_CODES.interrupted, message: /^stopped while reading .*silent$/ })
  })
})

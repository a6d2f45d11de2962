// The syncs and renames of one command, in their order, as strace sees them.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { MAIN } from '../helpers/process.ts'

const CALLS = 'trace=fsync,rename,renameat,renameat2'
const works = spawnSync('strace', ['-f', '-y', '-e', CALLS, 'true']).status === 0
// Where strace is expected, as in continuous integration, to be without it is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
export const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

export interface Call {
  readonly text: string
  begins: number
  ends: number
}

/** Calls by the lines in which they begin and end: other threads may come between. */
function callsIn(lines: readonly string[]): Call[] {
  const calls: Call[] = []
  const open = new Map<string, Call>()
  for (const [at, line] of lines.entries()) {
    const [, pid = '', text = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (text.startsWith('<...')) {
      const call = open.get(pid)
      if (call) call.ends = / = 0$/.test(text) ? at : Number.POSITIVE_INFINITY
      continue
    }
    const call = { text, begins: at, ends: / = 0$/.test(text) ? at : Number.POSITIVE_INFINITY }
    calls.push(call)
    open.set(pid, call)
  }
  return calls
}

/** What a command of the service asks of the system: `code` is that of its end. More options of strace may make calls fail. */
export async function traced(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  trace: string,
  options: readonly string[] = [],
): Promise<{ readonly code: number; readonly calls: readonly Call[] }> {
  const given = ['-f', '-y', '-e', CALLS, ...options, '-o', trace, process.execPath, MAIN, ...args]
  const strace = spawn('strace', given, { env: { ...process.env, ...environment }, stdio: 'ignore' })
  const [code] = (await once(strace, 'close')) as [number]
  return { code, calls: callsIn(readFileSync(trace, 'utf8').split('\n')) }
}

/** The syncs of a file or folder. */
export function syncsOf(path: string, calls: readonly Call[]): Call[] {
  return calls.filter(({ text }) => text.startsWith('fsync(') && text.includes(`<${path}>`))
}

/** The call that gave a file or folder the name `path`. */
export function namingOf(path: string, calls: readonly Call[]): Call {
  const found = calls.find(({ text }) => text.startsWith('rename') && text.includes(`, "${path}"`))
  assert.ok(found, `${path} was named`)
  return found
}

// That a model which is in its place is on the disk can only be seen from outside: its bytes are synced before it gets its name, and its folder after.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inFolder } from '../helpers/folder.ts'
import { startHub } from '../helpers/hub.ts'
import { MAIN } from '../helpers/process.ts'

const CALLS = 'trace=fsync,rename,renameat,renameat2'
const works = spawnSync('strace', ['-f', '-y', '-e', CALLS, 'true']).status === 0
// Where strace is expected, as in continuous integration, to be without it is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

const REPO = 'maker/model'

interface Call {
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

test(
  'a file is synced before it is in its place, and its folder after',
  { skip, timeout: 60_000 },
  inFolder(async (folder) => {
    await using hub = await startHub({ [REPO]: { 'a.gguf': { bytes: Buffer.alloc(200_000, 7) } } })
    const trace = join(folder, 'trace')
    const pull = [MAIN, 'models', 'pull', REPO, 'a.gguf', '--hub', hub.url]
    const env = { ...process.env, SVC_DATA_DIR: folder, SVC_PROBE_LOCAL_MODELS: 'off' }
    const strace = spawn('strace', ['-f', '-y', '-e', CALLS, '-o', trace, process.execPath, ...pull], {
      env,
      stdio: 'ignore',
    })
    assert.deepEqual(await once(strace, 'close'), [0, null])
    const calls = callsIn(readFileSync(trace, 'utf8').split('\n'))
    const place = join(folder, 'models', REPO)
    const named = calls.find(({ text }) => text.startsWith('rename') && text.includes(`"${join(place, 'a.gguf')}"`))
    const partial = /"([^"]*\/\.incomplete\/[0-9a-f]{64})"/.exec(named?.text ?? '')?.[1]
    assert.ok(named && partial, 'it was renamed')
    const synced = (path: string) => calls.filter(({ text }) => text.startsWith('fsync(') && text.includes(`<${path}>`))
    assert.ok(
      synced(partial).some(({ ends }) => ends < named.begins),
      'its bytes were synced before',
    )
    assert.ok(
      synced(place).some(({ begins, ends }) => begins > named.ends && ends < Number.POSITIVE_INFINITY),
      'its folder was synced after',
    )
  }),
)

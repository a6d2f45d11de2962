// A server whose syncs strace counts: that something waits for the disk can only be seen from outside.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

const works = spawnSync('strace', ['-f', '-e', 'trace=fsync,fdatasync', 'true']).status === 0
// Where strace is expected, as in continuous integration, to be without it is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
/** False, or why no test here can trace: the value of a test's `skip`. */
export const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

export interface Traced extends AsyncDisposable {
  readonly url: string
  readonly server: ServingProcess
  /** How many syncs have come to their end by now. */
  syncs(): number
}

/** A server whose syncs are counted. */
export async function traced(environment: Record<string, string> = {}): Promise<Traced> {
  const folder = temporaryFolder()
  const trace = join(folder, 'trace')
  const server = await serve(join(folder, 'data'), environment)
  const strace = spawn('strace', ['-f', '-e', 'trace=fsync,fdatasync', '-o', trace, '-p', String(server.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(strace, 'close')
  const pids = () => new Set(readFileSync(trace, 'utf8').match(/^\d+/gm) ?? []).size
  await until('strace to hold the server', () => /attached/.test(said) && pids() >= 0)
  const count = () => readFileSync(trace, 'utf8').match(/(fsync|fdatasync)\b.* = 0$/gm)?.length ?? 0
  return {
    url: server.url,
    server,
    // strace writes a line before it lets the process go on, so that the lines of what was answered are there.
    syncs: count,
    async [Symbol.asyncDispose]() {
      strace.kill('SIGINT')
      await ended
      await server[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** No sync of earlier work is still to come. */
export async function quiet(server: Traced): Promise<number> {
  let last = -1
  let same = 0
  return until('silence', async () => {
    const now = server.syncs()
    same = now === last ? same + 1 : 0
    last = now
    return same > 20 ? { now } : null
  }).then(({ now }) => now)
}

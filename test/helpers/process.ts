// The service as a process of its own, for tests of what only a process can show: arguments, signals, exit codes, crashes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { until } from './server.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const MAIN = file('src/main.ts')
export const SVC = file('src/launch/svc.mjs')
export const LAUNCHER = file('src/launch/node.mjs')

export interface Ended {
  /** Null where a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunningProcess extends AsyncDisposable {
  readonly child: ChildProcess
  readonly pid: number
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
  ended(): Promise<Ended>
}

/** Runs `script` with this Node. Killed at the end of its block, if it still runs then. */
export function runProcess(
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): RunningProcess {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, SVC_LOG_LEVEL: 'silent', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  }
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  return {
    child,
    pid: child.pid!,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    kill: (signal) => void child.kill(signal),
    async ended() {
      const [code, signal] = await closed
      return { code, signal, ...texts }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** How many jobs of that status the database in `data_dir` has, looked up from outside of the process that writes it. */
export function storedJobs(data_dir: string, status: string): number {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select count(*) from job where status = ?').pluck().get(status) as number
  } finally {
    db.close()
  }
}

export interface ServingProcess extends RunningProcess {
  readonly url: string
}

/** `svc serve` on a free port, once it listens. */
export async function serve(
  data_dir: string,
  environment: Readonly<Record<string, string>> = {},
  script = MAIN,
): Promise<ServingProcess> {
  const running = runProcess(script, ['serve', '--port', '0'], { SVC_DATA_DIR: data_dir, ...environment })
  const url = await until(
    'the server to listen',
    () => {
      if (running.child.exitCode !== null)
        throw new Error(`it ended with ${running.child.exitCode}: ${running.stderr()}`)
      return /listens on (http:\S+)\n/.exec(running.stdout())?.[1]
    },
    20_000,
  )
  return Object.assign(running, { url })
}

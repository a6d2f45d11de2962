// Runs the service as a separate process, for tests of arguments, signals, exit codes and crashes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { giveKey } from './key.ts'
import { until } from './server.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const MAIN = file('src/main.ts')
export const SVC = file('src/launch/svc.mjs')
export const LAUNCHER = file('src/launch/node.mjs')

export interface Ended {
  /** Null where a signal ended the process. */
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

export interface Surroundings {
  /** The whole standard input. Absent: there is none. */
  stdin?: string
  cwd?: string
}

/** Runs `script` with this Node. A process that still runs at the end of the block is killed. */
export function runProcess(
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  { stdin, cwd }: Surroundings = {},
): RunningProcess {
  if (environment.SVC_DATA_DIR !== undefined && environment.SECRETS_MASTER_KEY === undefined)
    giveKey(environment.SVC_DATA_DIR)
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, SVC_LOG_LEVEL: 'silent', SVC_PROBE_LOCAL_MODELS: 'off', ...environment },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    cwd,
  })
  // The process may end before it has read its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
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

/** Runs `svc` with these arguments to its end. */
export async function svc(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  surroundings: Surroundings = {},
): Promise<Ended> {
  await using running = runProcess(MAIN, args, environment, surroundings)
  return await running.ended()
}

/** Runs `svc run` of a workflow quietly to its end. Returns the outputs (null where it wrote none), the exit code and the error text. */
export async function runInTerminal(
  file: string,
  params: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; outputs: unknown; stderr: string }> {
  const stdin = JSON.stringify(params)
  const { code, stdout, stderr } = await svc(['run', file, '--params', '-', '--quiet'], environment, { stdin })
  return { code, outputs: stdout === '' ? null : JSON.parse(stdout), stderr }
}

/** Counts the jobs of a status in the database of `data_dir`, from outside the writing process. */
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

/** Starts `svc serve` on a free port. Resolves when it listens. */
export async function serve(
  data_dir: string,
  environment: Readonly<Record<string, string>> = {},
  script = MAIN,
): Promise<ServingProcess> {
  const running = runProcess(script, ['serve', '--port', '0'], { SVC_DATA_DIR: data_dir, ...environment })
  const url = await until('the server to listen', () => {
    if (running.child.exitCode !== null) throw new Error(`it ended with ${running.child.exitCode}: ${running.stderr()}`)
    return /listens on (http:\S+)\n/.exec(running.stdout())?.[1]
  })
  return Object.assign(running, { url })
}

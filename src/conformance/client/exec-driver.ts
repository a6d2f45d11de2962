// A client under test as a command, which is started once for each scenario.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ClientDriver } from './scenario-runner.ts'

/** How long a command may take to end after its scenario. */
const TERMINATION_GRACE_MS = 1_000
/** How much of the command's output is kept for the transcript. */
const MAX_OUTPUT_CHARACTERS = 2_000

/** Runs `command` in a shell with SVC_URL, SVC_TOKEN, SVC_SCENARIO and SVC_TASK (JSON) in its environment. */
export function createExecDriver(
  command: string,
  environment: Readonly<Record<string, string | undefined>>,
): ClientDriver {
  return async ({ url, token, scenario, task, signal }) => {
    const child = spawn(command, {
      shell: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...environment,
        SVC_URL: url,
        SVC_TOKEN: token,
        SVC_SCENARIO: scenario,
        SVC_TASK: JSON.stringify(task),
      },
    })
    let words = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        words = `${words}${text}`.slice(-MAX_OUTPUT_CHARACTERS)
      })
    }
    const exited = once(child, 'exit')
    const end = () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), TERMINATION_GRACE_MS)
      child.once('exit', () => clearTimeout(timer))
    }
    signal.addEventListener('abort', end)
    const [code, by] = await exited
    signal.removeEventListener('abort', end)
    // A child process of the command may keep the pipes open.
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    return `${by === null ? `exit code ${code}` : `by ${by}`}${words.trim() === '' ? '' : `\n${words.trim()}`}`
  }
}

// Runs graphs with http nodes against servers of the test: with a client that reaches 127.0.0.1 and secrets that the test knows.
import type { Clock } from '../../src/engine/clock.ts'
import { execute, type Outcome } from '../../src/engine/execution.ts'
import type { Graph } from '../../src/engine/graph.ts'
import type { Outputs } from '../../src/engine/node-type.ts'
import { noServices } from '../../src/engine/services.ts'
import { planOf, Recorder } from '../engine/kit.ts'
import { localHttp } from '../net/servers.ts'

export interface HttpRun {
  outcome: Outcome
  observer: Recorder
  /** The outputs of the last node that completed. */
  result: Outputs
}

export interface HttpRunOptions {
  secrets?: Readonly<Record<string, string>>
  clock?: Clock
  random?: () => number
  signal?: AbortSignal
}

export async function runHttp(of: Graph, { secrets = {}, ...options }: HttpRunOptions = {}): Promise<HttpRun> {
  await using http = localHttp()
  const secret = async (name: string) => (Object.hasOwn(secrets, name) ? secrets[name]! : null)
  const services = { ...noServices, http, secret }
  const observer = new Recorder()
  const { signal = new AbortController().signal, ...rest } = options
  const outcome = await execute(planOf(of), { params: {}, signal, observer, services, ...rest }).done
  const completed = observer.calls.findLast((call) => call[0] === 'node' && call[2] === 'completed')
  return { outcome, observer, result: (completed?.[3] as { result?: Outputs } | undefined)?.result ?? {} }
}

// Runs graphs with http nodes against servers of the test, with a client that may reach 127.0.0.1 and with secrets of the test.

import type { Graph } from '../../src/engine/compile/graph.ts'
import type { Clock } from '../../src/engine/node-api/clock.ts'
import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { executePlan, type RunOutcome } from '../../src/engine/runtime/execution.ts'
import { planOf, Recorder } from '../engine/kit.ts'
import { localHttp } from '../net/servers.ts'

export interface HttpRun {
  outcome: RunOutcome
  observer: Recorder
  /** The outputs of the last node that completed. */
  result: OutputValues
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
  const outcome = await executePlan(planOf(of), { params: {}, signal, observer, services, ...rest }).done
  const completed = observer.calls.findLast((call) => call[0] === 'node' && call[2] === 'completed')
  return { outcome, observer, result: (completed?.[3] as { result?: OutputValues } | undefined)?.result ?? {} }
}

// Nodes that use models, run by themselves with the providers and vectors of a test.
import assert from 'node:assert/strict'
import type { Graph, GraphNode } from '../../src/engine/graph.ts'
import type { NodeNeed, Outputs } from '../../src/engine/node-type.ts'
import { compileGraph } from '../../src/engine/plan.ts'
import { type NodeServices, noServices } from '../../src/engine/services.ts'
import { customerWith } from '../../src/models/customer.ts'
import { Listings } from '../../src/models/listings.ts'
import { Models } from '../../src/models/models.ts'
import type { Provider } from '../../src/models/provider.ts'
import { knownProviders } from '../../src/models/providers.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { graph, node, type Recorder, start } from '../engine/kit.ts'

export function services(providers: readonly Provider[] = [], more: Partial<NodeServices> = {}): NodeServices {
  const models = new Models({ providers: knownProviders(providers), listings: new Listings({ now: () => 0 }) })
  return { ...noServices, models: models.of(customerWith(() => null)), ...more }
}

/** Type metadata as graphs declare it. */
export function declared(type: string, more: object = {}): object {
  return { type, optional: false, values: [], type_args: [], type_name: null, ...more }
}

export interface Fired {
  readonly outputs: Outputs
  /** `type: message` where it failed, else empty. */
  readonly failure: string
  readonly observer: Recorder
}

/** One firing of a node with these values of its own. Streams are left out of its outputs. */
export async function fired(
  type: string,
  data: Record<string, unknown>,
  lent: NodeServices,
  more: Partial<GraphNode> = {},
): Promise<Fired> {
  const of = graph([node('n', type, data, more)], [])
  const { execution, observer } = start(of, builtinNodes, { services: lent })
  const outcome = await execution.done
  const detail = observer.calls.find((call) => call[0] === 'node' && call[2] === 'completed')?.[3]
  const failure = outcome.status === 'failed' ? `${outcome.error.type}: ${outcome.error.message}` : ''
  return { outputs: (detail as { result: Outputs } | undefined)?.result ?? {}, failure, observer }
}

/** The errors that a node is refused with before it runs. */
export function problems(type: string, data: Record<string, unknown>): string[] {
  const of: Graph = graph([node('n', type, data)], [])
  return compileGraph(of, builtinNodes)
    .issues.filter(({ severity }) => severity === 'error')
    .map(({ code, pin_name, message }) => `${code} ${pin_name}: ${message}`)
}

/** What a node says that it will need, its defaults filled in. */
export function needsOf(type: string, data: Record<string, unknown>, connected: string[] = []): readonly NodeNeed[] {
  const known = builtinNodes.get(type)
  assert.ok(known?.needs)
  const defaults = Object.fromEntries(known.properties.map((one) => [one.name, one.default ?? null]))
  return known.needs({
    node_id: 'n',
    data: { ...defaults, ...data },
    isConnected: (name) => connected.includes(name),
  })
}

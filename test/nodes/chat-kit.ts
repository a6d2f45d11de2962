// Runs nodes that use models alone, with the providers and vectors of a test.
import assert from 'node:assert/strict'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphNode } from '../../src/engine/compile/graph.ts'
import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeNeed } from '../../src/engine/node-api/node-facts.ts'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelService } from '../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import type { Provider } from '../../src/models/provider.ts'
import { createBuiltinRegistry } from '../../src/models/providers/registry.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, type Recorder, start } from '../engine/kit.ts'

export function services(providers: readonly Provider[] = [], more: Partial<NodeServices> = {}): NodeServices {
  const models = new ModelService({
    providers: createBuiltinRegistry(providers),
    model_lists: new ModelListCache({ now: () => 0 }),
  })
  return { ...noServices, models: models.accessFor(createUnbilledContext(() => null)), ...more }
}

/** Type metadata as graphs declare it. */
export function declared(type: string, more: object = {}): object {
  return { type, optional: false, values: [], type_args: [], type_name: null, ...more }
}

export interface Fired {
  readonly outputs: OutputValues
  /** `type: message` if it failed, else empty. */
  readonly failure: string
  readonly observer: Recorder
}

/** One firing of a node with these values of its own. Its outputs are returned without streams. */
export async function fired(
  type: string,
  data: Record<string, unknown>,
  lent: NodeServices,
  more: Partial<GraphNode> = {},
): Promise<Fired> {
  const of = graph([node('n', type, data, more)], [])
  const { execution, observer } = start(of, builtinRegistry, { services: lent })
  const outcome = await execution.done
  const detail = observer.calls.find((call) => call[0] === 'node' && call[2] === 'completed')?.[3]
  const failure = outcome.status === 'failed' ? `${outcome.error.type}: ${outcome.error.message}` : ''
  return { outputs: (detail as { result: OutputValues } | undefined)?.result ?? {}, failure, observer }
}

/** The errors that validation reports for a node. */
export function problems(type: string, data: Record<string, unknown>): string[] {
  const of: Graph = graph([node('n', type, data)], [])
  return compileGraph(of, builtinRegistry)
    .issues.filter(({ severity }) => severity === 'error')
    .map(({ code, pin_name, message }) => `${code} ${pin_name}: ${message}`)
}

/** The needs of a node, with its defaults filled in. */
export function needsOf(type: string, data: Record<string, unknown>, connected: string[] = []): readonly NodeNeed[] {
  const known = builtinRegistry.get(type)
  assert.ok(known?.needs)
  const defaults = Object.fromEntries(known.properties.map((one) => [one.name, one.default ?? null]))
  return known.needs({
    node_id: 'n',
    data: { ...defaults, ...data },
    isConnected: (name) => connected.includes(name),
  })
}

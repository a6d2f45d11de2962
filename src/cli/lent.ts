// What the nodes of a run in the terminal are lent besides models and secrets: workflows as tools, vectors, and a clear word where something
// is to be had on a server alone.
import { loadedFrom, notFound } from '../assets/loaded.ts'
import { packageFile, packagePathOf } from '../assets/packages.ts'
import { NodeError, type NodeRegistry } from '../engine/node-type.ts'
import type { AssetAccess, ToolAccess, VectorAccess } from '../engine/services.ts'
import type { Customer } from '../models/customer.ts'
import { checkPurses, counted, hold, type Purse } from '../models/purse.ts'
import { toolAccess } from '../workflows/tools.ts'
import type { CalledWorkflows } from './called.ts'
import type { KeptVectors } from './kept-vectors.ts'

export interface RunVectors extends AsyncDisposable {
  readonly access: VectorAccess
}

/**
 * Vectors in a data folder, opened at once so that nothing is spent where that fails; without one in memory, where a node first asks for
 * them, and gone with the run.
 * @throws StartError
 */
export async function openVectors(data_dir: string | null): Promise<RunVectors> {
  let opened: Promise<KeptVectors> | null = data_dir === null ? null : open(data_dir)
  await opened
  const vectors = async (): Promise<VectorAccess> => {
    opened ??= open(null)
    return (await opened).vectors
  }
  return {
    access: {
      info: async (index) => (await vectors()).info(index),
      list: async () => (await vectors()).list(),
      put: async (...given) => (await vectors()).put(...given),
      search: async (query) => (await vectors()).search(query),
      remove: async (...given) => (await vectors()).remove(...given),
    },
    async [Symbol.asyncDispose]() {
      // Whoever asked for them has been told where they could not be opened.
      const kept = await opened?.catch(() => null)
      await kept?.[Symbol.asyncDispose]()
    },
  }
}

async function open(data_dir: string | null): Promise<KeptVectors> {
  return (await import('./kept-vectors.ts')).keptVectors(data_dir)
}

/** What agents may call: node types, and the workflows that `workflow.Call` finds. */
export function terminalTools(called: CalledWorkflows, registry: NodeRegistry): ToolAccess {
  return toolAccess({
    registry,
    async workflow(workflow_id) {
      try {
        const { name, description, plan } = await called.workflow(workflow_id)
        return { name, description, inputs: plan.inputs }
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        throw new NodeError(error.message, 'unknown_tool')
      }
    },
  })
}

const CURE = 'Run the workflow on a server: svc serve.'

async function noStore(): Promise<never> {
  throw new NodeError(`svc run has no assets. ${CURE}`, 'unavailable')
}

/** The files that come with the service. Assets belong to a server. */
export const bundledAssets: AssetAccess = {
  async load(reference, max_bytes) {
    const path = packagePathOf(reference.trim())
    if (path === null) {
      throw new NodeError(`"${reference.slice(0, 100)}" cannot be read: svc run has no assets. ${CURE}`, 'unavailable')
    }
    const file = packageFile(path)
    const loaded = file && (await loadedFrom(file, max_bytes))
    if (!loaded) throw notFound(reference)
    return loaded
  },
  save: noStore,
  list: noStore,
}

/** The same customer, held to what one run may cost in US dollars; null: to nothing. */
export function heldTo(limit: number | null, customer: Customer): Customer {
  if (limit === null) return customer
  let total = 0
  const purse: Purse = { limit, whose: 'This run', spent: () => total, resets_in: () => null, held: 0 }
  return {
    owner: customer.owner,
    key: (name) => customer.key(name),
    admit: () => checkPurses([purse]),
    charge: ({ cost }) => {
      total += counted(cost)
    },
    hold: (sure) => hold([purse], counted(sure())),
  }
}

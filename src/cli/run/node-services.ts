// Services for the nodes of a run in the terminal, besides models and secrets: workflows as tools, vectors, and clear errors for what only a server
// has.

import { findPackageFile, parsePackagePath } from '../../assets/bundled-packages.ts'
import { assetNotFoundError, loadVerifiedFile } from '../../assets/verified-file-loader.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'
import type { AssetAccess } from '../../engine/node-api/services/assets.ts'
import type { ToolAccess } from '../../engine/node-api/services/tools.ts'
import type { VectorAccess } from '../../engine/node-api/services/vectors.ts'
import type { BillingContext } from '../../models/billing/billing-context.ts'
import {
  amountTowardsLimits,
  guardSpendingLimits,
  reserveCost,
  type SpendingLimit,
} from '../../models/billing/spending-limit.ts'
import { createToolAccess } from '../../workflows/tools/access.ts'
import type { CalledWorkflows } from '../workflow/called-workflows.ts'
import type { VectorDatabase } from './vector-database.ts'

export interface RunVectors extends AsyncDisposable {
  readonly access: VectorAccess
}

/**
 * Vectors in a data folder, which is opened at once, so that a failure costs nothing. Without a folder the vectors are in memory, from the first use
 * by a node to the end of the run.
 * @throws StartError
 */
export async function openRunVectors(data_dir: string | null): Promise<RunVectors> {
  let opened: Promise<VectorDatabase> | null = data_dir === null ? null : loadVectorDatabase(data_dir)
  await opened
  const vectors = async (): Promise<VectorAccess> => {
    opened ??= loadVectorDatabase(null)
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
      // The nodes that asked for vectors have received the error already.
      const kept = await opened?.catch(() => null)
      await kept?.[Symbol.asyncDispose]()
    },
  }
}

async function loadVectorDatabase(data_dir: string | null): Promise<VectorDatabase> {
  return (await import('./vector-database.ts')).openVectorDatabase(data_dir)
}

/** The tools of agents: node types, and the workflows that `workflow.Call` finds. */
export function createRunToolAccess(called: CalledWorkflows, registry: NodeRegistry): ToolAccess {
  return createToolAccess({
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

const SERVER_ADVICE = 'Run the workflow on a server: svc serve.'

async function rejectAssetUse(): Promise<never> {
  throw new NodeError(`svc run has no assets. ${SERVER_ADVICE}`, 'unavailable')
}

/** The files that come with the service. Only a server has assets. */
export const bundledAssetAccess: AssetAccess = {
  async load(reference, max_bytes) {
    const path = parsePackagePath(reference.trim())
    if (path === null) {
      throw new NodeError(
        `"${reference.slice(0, 100)}" cannot be read: svc run has no assets. ${SERVER_ADVICE}`,
        'unavailable',
      )
    }
    const file = findPackageFile(path)
    const loaded = file && (await loadVerifiedFile(file, max_bytes))
    if (!loaded) throw assetNotFoundError(reference)
    return loaded
  },
  save: rejectAssetUse,
  list: rejectAssetUse,
}

/** The same billing context, with a limit in US dollars for the run; null: no limit. */
export function limitRunCost(limit: number | null, billing: BillingContext): BillingContext {
  if (limit === null) return billing
  let total = 0
  const purse: SpendingLimit = { limit, subject: 'This run', spent: () => total, resets_in: () => null, held: 0 }
  return {
    owner: billing.owner,
    key: (name) => billing.key(name),
    admit: () => guardSpendingLimits([purse]),
    charge: ({ cost }) => {
      total += amountTowardsLimits(cost)
    },
    hold: (sure) => reserveCost([purse], amountTowardsLimits(sure())),
  }
}

// What the nodes of this process may use besides their inputs: one sandbox, one way out to the network, models, and the secrets of whoever
// they run for.
import { createComputePool } from './compute/worker-pool.ts'
import type { Config } from './config.ts'
import {
  type AssetAccess,
  type MediaAccess,
  type NodeServices,
  noServices,
  type OutgoingHttp,
  type ToolAccess,
  type VectorAccess,
} from './engine/node-api/node-services.ts'
import { createMediaPool } from './media/worker-pool.ts'
import { type BillingContext, createUnbilledContext } from './models/billing/billing-context.ts'
import type { ModelService } from './models/calls/model-service.ts'
import { createOutgoingHttpClient } from './net/outgoing/http-client.ts'
import type { OwnRequestDetector } from './net/own-request-detector.ts'
import { createCodeSandbox } from './sandbox/code-sandbox.ts'

/** What one owner's workflows bring. What the functions throw fails the firing. */
export interface OwnerResources {
  /** The key of the owner. Absent: there is one user only. */
  readonly owner?: string
  secret(name: string): string | null
  readonly customer: BillingContext
  /** Absent: there is no store to load from. */
  readonly assets?: AssetAccess
  /** Absent: there is no store to keep them in. */
  readonly vectors?: VectorAccess
  /** Absent: models have nothing to call. */
  readonly tools?: ToolAccess
  /** Absent: nothing is known that is secret. */
  redact?(text: string): string
}

export interface ProcessServices extends AsyncDisposable {
  /** The guarded client, for doors that fetch on behalf of this owner. */
  httpFor(owner: string): OutgoingHttp
  /** For work on files that nobody's workflow asked for. */
  readonly media: MediaAccess
  /** The threads that read slow expressions of graphs. */
  readonly workers: Pick<NodeServices, 'compute' | 'sandbox'>
  /** What the nodes of one owner's workflows may use. */
  forOwner(owned: OwnerResources): NodeServices
}

/**
 * Starts nothing before a node asks for it; ends everything when disposed of. `failed` is told, for the log, where work on a file fails and the
 * file is not the reason. `own` knows what nodes send, in a process that serves as well.
 */
export function createServices(
  config: Pick<Config, 'http_node_allow'>,
  models: ModelService,
  failed: (detail: string) => void = () => {},
  own: OwnRequestDetector | null = null,
): ProcessServices {
  const sandbox = createCodeSandbox()
  const media = createMediaPool({ reportFailure: failed })
  const compute = createComputePool({ reportFailure: failed })
  const http = createOutgoingHttpClient({ allow: config.http_node_allow, own })
  return {
    httpFor: (owner) => http.forOwner(owner),
    media,
    workers: { compute, sandbox },
    forOwner: ({ owner = noServices.owner, secret, customer, redact = noServices.redact, ...owned }) => ({
      owner,
      assets: owned.assets ?? noServices.assets,
      models: models.accessFor(customer),
      vectors: owned.vectors ?? noServices.vectors,
      sandbox,
      media,
      compute,
      http: http.forOwner(owner),
      tools: owned.tools ?? noServices.tools,
      secret: async (name) => secret(name),
      redact,
    }),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]()
      await media[Symbol.asyncDispose]()
      await compute[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** Whose calls of models they are where there are no users. */
const OPERATOR_OWNER = 'operator'

/** The secrets and keys of the operator's environment, for those that they belong to. */
export function operatorResources({
  secrets,
  provider_keys,
}: Pick<Config, 'secrets' | 'provider_keys'>): OwnerResources {
  const keys = { ...provider_keys, ...secrets }
  return {
    secret: (name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null),
    customer: createUnbilledContext((name) => (Object.hasOwn(keys, name) ? keys[name]! : null), OPERATOR_OWNER),
  }
}

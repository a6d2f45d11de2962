// The services of nodes in this process: one sandbox, one client for outgoing requests, models, and the secrets of the nodes' owner.
import { createComputePool } from '../compute/worker-pool.ts'
import type { Config } from '../config.ts'
import type { NodeServices } from '../engine/node-api/node-services.ts'
import type { AssetAccess } from '../engine/node-api/services/assets.ts'
import type { MediaAccess } from '../engine/node-api/services/media.ts'
import { noServices } from '../engine/node-api/services/no-services.ts'
import type { OutgoingHttp } from '../engine/node-api/services/outgoing-http.ts'
import type { ToolAccess } from '../engine/node-api/services/tools.ts'
import type { VectorAccess } from '../engine/node-api/services/vectors.ts'
import { createMediaPool } from '../media/worker-pool.ts'
import { type BillingContext, createUnbilledContext } from '../models/billing/billing-context.ts'
import type { ModelService } from '../models/calls/model-service.ts'
import { createOutgoingHttpClient } from '../net/outgoing/http-client.ts'
import type { OwnRequestDetector } from '../net/own-request-detector.ts'
import { createCodeSandbox } from '../sandbox/code-sandbox.ts'

/** The resources of one owner. An error of the functions fails the firing. */
export interface OwnerResources {
  /** The key of the owner. Absent: there is only one user. */
  readonly owner?: string
  secret(name: string): string | null
  /** Whose keys and budget pay for calls of models. */
  readonly billing: BillingContext
  /** Absent: there is no asset store. */
  readonly assets?: AssetAccess
  /** Absent: there is no vector store. */
  readonly vectors?: VectorAccess
  /** Absent: models have no tools. */
  readonly tools?: ToolAccess
  /** Absent: no secrets are known. */
  redact?(text: string): string
  redactTexts?(texts: readonly string[]): Promise<readonly string[]>
}

export interface NodeServiceFactory extends AsyncDisposable {
  /** The guarded HTTP client, for transports that fetch on behalf of this owner. */
  httpFor(owner: string): OutgoingHttp
  /** Media work that does not belong to a workflow. */
  readonly media: MediaAccess
  /** The threads that read slow expressions of graphs. */
  readonly workers: Pick<NodeServices, 'compute' | 'sandbox'>
  /** The services for the nodes of one owner's workflows. */
  forOwner(owned: OwnerResources): NodeServices
}

/**
 * Starts each part at its first use; ends everything when disposed of. `failed` reports, for the log, failed work on a file if the file is not the
 * reason. `own` recognizes requests of nodes, in a process that also serves.
 */
export function createNodeServiceFactory(
  config: Pick<Config, 'http_node_allow'>,
  models: Pick<ModelService, 'accessFor'>,
  failed: (detail: string) => void = () => {},
  own: OwnRequestDetector | null = null,
): NodeServiceFactory {
  const sandbox = createCodeSandbox()
  const media = createMediaPool({ reportFailure: failed })
  const compute = createComputePool({ reportFailure: failed })
  const http = createOutgoingHttpClient({ allow: config.http_node_allow, own })
  return {
    httpFor: (owner) => http.forOwner(owner),
    media,
    workers: { compute, sandbox },
    forOwner: ({ owner = noServices.owner, secret, billing, ...owned }) => ({
      owner,
      assets: owned.assets ?? noServices.assets,
      models: models.accessFor(billing),
      vectors: owned.vectors ?? noServices.vectors,
      sandbox,
      media,
      compute,
      http: http.forOwner(owner),
      tools: owned.tools ?? noServices.tools,
      secret: async (name) => secret(name),
      redact: owned.redact ?? noServices.redact,
      redactTexts: owned.redactTexts ?? noServices.redactTexts,
    }),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]()
      await media[Symbol.asyncDispose]()
      await compute[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** The owner of model calls where there are no users. */
const OPERATOR_OWNER = 'operator'

/** The secrets and keys of the operator's environment. */
export function operatorResources({
  secrets,
  provider_keys,
}: Pick<Config, 'secrets' | 'provider_keys'>): OwnerResources {
  const keys = { ...provider_keys, ...secrets }
  return {
    secret: (name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null),
    billing: createUnbilledContext((name) => (Object.hasOwn(keys, name) ? keys[name]! : null), OPERATOR_OWNER),
  }
}

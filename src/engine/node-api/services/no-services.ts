// The services of runs whose host provides none: each call says what is missing.
import { NodeError } from '../node-error.ts'
import type { NodeServices } from '../node-services.ts'

function createUnavailableError(what: string): NodeError {
  return new NodeError(`No ${what} is available where this workflow runs.`, 'unavailable')
}

/** A call that throws. */
const refuse = (what: string) => (): never => {
  throw createUnavailableError(what)
}

/** A call that rejects. */
const reject = (what: string) => async (): Promise<never> => {
  throw createUnavailableError(what)
}

const rejectAssets = reject('asset store')
const rejectModels = reject('model provider')
const rejectVectors = reject('vector store')
const refuseTools = refuse('tool')

export const noServices: NodeServices = {
  owner: '',
  assets: { load: rejectAssets, save: rejectAssets, list: rejectAssets },
  models: { complete: refuse('model provider'), embed: rejectModels, capabilities: rejectModels },
  vectors: {
    info: rejectVectors,
    list: rejectVectors,
    put: rejectVectors,
    search: rejectVectors,
    remove: rejectVectors,
  },
  sandbox: { call: reject('code sandbox'), stream: refuse('code sandbox') },
  media: { run: reject('media process') },
  compute: { takes: () => false, run: reject('compute thread') },
  http: { send: reject('HTTP client') },
  tools: { workflow: reject('workflow'), node: refuseTools, restore: refuseTools, isNode: () => false },
  secret: async () => null,
  redact: (text) => text,
  redactTexts: async (texts) => texts,
}

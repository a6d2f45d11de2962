// The services of nodes in examples: those of the process, and stand-ins for models, a web server, assets and secrets.
import { createHash } from 'node:crypto'
import { bundledAssetAccess } from '../../../src/cli/run/node-services.ts'
import { IN_MEMORY } from '../../../src/db/open-database.ts'
import { Store } from '../../../src/db/store.ts'
import type { NodeServices } from '../../../src/engine/node-api/node-services.ts'
import type { AssetAccess, AssetValue } from '../../../src/engine/node-api/services/assets.ts'
import type { ModelAccess, ModelPart } from '../../../src/engine/node-api/services/models.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import type { OutgoingHttp } from '../../../src/engine/node-api/services/outgoing-http.ts'
import { createMediaPool } from '../../../src/media/worker-pool.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { createCodeSandbox } from '../../../src/sandbox/code-sandbox.ts'
import { createToolAccess } from '../../../src/workflows/tools/access.ts'
import { vectorsOf } from '../../vectors/kit.ts'
import { services as chatServices } from '../chat-kit.ts'

type Turn = string | { readonly tool: string; readonly args: object }

/** What the model of a node type's example answers, turn by turn. */
const TURNS: Readonly<Record<string, readonly Turn[]>> = {
  'agent.Run': [{ tool: 'math_Formula', args: { formula: '3 * 14.90' } }, 'They cost 44.70.'],
  'chat.Classify': ['delivery'],
  'chat.Extract': ['{"name": "Lovelace", "guests": 4, "phone": null}'],
  'chat.Structured': ['{"capital": "Oslo", "river": "Akerselva"}'],
  'chat.Summarize': ['Fog kept two of five ships out of the busy harbour.'],
}
const VECTORS = [
  [0.81, 0.12, 0.57],
  [0.78, 0.2, 0.59],
]

/** The answers of a web server, by URL. */
const PAGES: Readonly<Record<string, unknown>> = {
  'https://shop.example/orders/1042': { id: 1042, status: 'packed' },
  'https://shop.example/orders': { orders: [{ id: 1040 }, { id: 1041 }] },
  'https://shop.example/orders?page=2': { orders: [{ id: 1042 }] },
  'https://shop.example/orders?page=3': { orders: [] },
}

/** Assets of the user. */
const FILES: Readonly<Record<string, readonly [text: string, content_type: string]>> = {
  'asset://notice': ['Back at two o’clock.', 'text/plain; charset=utf-8'],
  'asset://cities-csv': ['city,people\nOslo,717710\nBergen,291940\n', 'text/csv; charset=utf-8'],
  'asset://cities-jsonl': ['{"city": "Oslo"}\n{"city": "Bergen"}\n', 'application/jsonl'],
}

export interface ExampleServices extends AsyncDisposable {
  /** The services of one example, without traces of others. */
  forExample(type: string): NodeServices
}

export async function createExampleServices(): Promise<ExampleServices> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(createCodeSandbox({ workers: 1 }))
  const media = opened.use(createMediaPool({ processes: 1 }))
  const store = opened.use(await Store.open(IN_MEMORY))
  const kept = opened.move()
  return {
    forExample: (type) => ({
      ...noServices,
      sandbox,
      media,
      models: modelsOf(TURNS[type] ?? null),
      http,
      assets: createAssets(),
      vectors: vectorsOf(store, { user_id: type, workspace_id: null }),
      tools: createToolAccess({ registry: builtinRegistry, workflow: async () => Promise.reject(new Error('none')) }),
      secret: async () => 'value-of-the-secret',
    }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Null: the built-in models. */
function modelsOf(turns: readonly Turn[] | null): ModelAccess {
  if (turns === null) return { ...chatServices().models, embed: async () => VECTORS }
  const left = [...turns]
  return {
    async *complete({ body, used }) {
      const use = { model: String(body.model), input_tokens: 20, output_tokens: 10, cost: null }
      const turn = left.shift() ?? ''
      yield* toParts(turn)
      used?.(use)
      yield { type: 'end', use, finish_reason: typeof turn === 'string' ? 'stop' : 'tool_calls' }
    },
    embed: async () => VECTORS,
    capabilities: async () => [],
  }
}

function toParts(turn: Turn): ModelPart[] {
  if (typeof turn === 'string') return turn.split(/(?<= )/).map((text) => ({ type: 'text', text }))
  return [{ type: 'tool_call', index: 0, id: 'call_1', name: turn.tool, arguments: JSON.stringify(turn.args) }]
}

const http: OutgoingHttp = {
  async send({ url }) {
    const body = Buffer.from(JSON.stringify(PAGES[url]))
    return { status: 200, headers: { 'content-type': 'application/json' }, body, url }
  },
}

/** Files of the user, bundled files, and those that the example saves. */
function createAssets(): AssetAccess {
  const saved: AssetValue[] = []
  return {
    async load(reference, max_bytes) {
      const file = FILES[reference]
      if (!file) return bundledAssetAccess.load(reference, max_bytes)
      return { bytes: Buffer.from(file[0]), content_type: file[1], name: reference.slice('asset://'.length) }
    },
    async save({ bytes, name, content_type }) {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const facts = { asset_id: 'k3v9', content_type: content_type ?? '', size: bytes.length, sha256 }
      const asset = { type: 'file', uri: '/api/storage/assets/k3v9', ...facts, name: name ?? '' }
      saved.push(asset)
      return asset
    },
    list: async () => saved,
  }
}

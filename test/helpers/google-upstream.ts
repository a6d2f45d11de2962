// A server that behaves like the Gemini API: it refuses invalid requests and streams chunks as the API does.
import {
  type Loose,
  startVendor,
  type VendorRequest,
  type VendorScript,
  type VendorUpstream,
} from './vendor-upstream.ts'

type Json = { [key: string]: unknown }

export interface GeminiScript extends VendorScript {
  /** The parts of the answer, one in each chunk. */
  says?: readonly Json[]
  finishReason?: string
  usage?: Json | null
  error?: { code: number; status: string; message: string }
}

export interface GoogleOptions {
  answer?: (request: VendorRequest, n: number) => GeminiScript
  models?: readonly Json[]
  key?: string
}

export const USAGE = {
  promptTokenCount: 9,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 6,
  totalTokenCount: 20,
}

const SPEAKS = ['generateContent', 'countTokens']

export const GEMINIS: readonly Json[] = [
  {
    name: 'models/gemini-3.8-flash',
    displayName: 'Gemini 3.8 Flash',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: SPEAKS,
    thinking: true,
  },
  {
    name: 'models/gemini-2.5-flash',
    displayName: 'Gemini 2.5 Flash',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: SPEAKS,
    thinking: true,
  },
  {
    name: 'models/gemini-2.0-flash',
    displayName: '',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 8_192,
    supportedGenerationMethods: SPEAKS,
  },
  { name: 'models/gemini-2.5-flash-image', displayName: 'Pictures', supportedGenerationMethods: SPEAKS },
  {
    name: 'models/gemini-embedding-001',
    displayName: 'Gemini Embedding 001',
    inputTokenLimit: 2_048,
    outputTokenLimit: 1,
    supportedGenerationMethods: ['embedContent'],
  },
]

/** Its answer without a script. */
const PLAIN: GeminiScript = {}

export function startGoogle(options: GoogleOptions = {}): Promise<VendorUpstream> {
  const { models = GEMINIS, key = 'AIza-test-0123456789', answer = () => PLAIN } = options
  let posts = 0
  return startVendor((request) => {
    if (request.headers['x-goog-api-key'] !== key)
      return failure(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.')
    if (request.method === 'GET' && request.path === '/v1beta/models') return listing(request, models)
    const path = /^\/v1beta\/(models\/[^/:]+):(streamGenerateContent|batchEmbedContents)$/.exec(request.path)
    if (request.method !== 'POST' || !path) return failure(404, 'NOT_FOUND', 'Requested entity was not found.')
    if (!models.some(({ name }) => name === path[1]))
      return failure(404, 'NOT_FOUND', `${path[1]} is not found for API version v1beta.`)
    const wrong = path[2] === 'streamGenerateContent' ? refused(request, path[1]!) : null
    if (wrong) return failure(400, 'INVALID_ARGUMENT', wrong)
    const script = answer(request, posts++)
    if (script.error)
      return { ...failure(script.error.code, script.error.status, script.error.message), headers: script.headers ?? {} }
    if (script.events || script.body) return script
    return path[2] === 'batchEmbedContents' ? embeddings(request) : { ...script, events: geminiEvents(script) }
  })
}

function failure(code: number, status: string, message: string): VendorScript {
  return { status: code, body: { error: { code, message, status } } }
}

/** At most three at a time. */
function listing({ query }: VendorRequest, models: readonly Json[]): VendorScript {
  const from = Number(query.get('pageToken') ?? 0)
  const more = from + 3 < models.length ? { nextPageToken: String(from + 3) } : {}
  return { body: { models: models.slice(from, from + 3), ...more } }
}

export const chunk = (data: Json): string => `data: ${JSON.stringify(data)}\r\n\r\n`

/** The chunks of the real API: token counts in every chunk, the finish reason in the last one. */
export function geminiEvents(script: GeminiScript): string[] {
  const { says = [{ text: 'Hello' }, { text: ' there' }], finishReason = 'STOP', usage = USAGE } = script
  const last = says.length - 1
  return says.map((part, at) =>
    chunk({
      candidates: [{ content: { parts: [part], role: 'model' }, index: 0, ...(at === last ? { finishReason } : {}) }],
      ...(usage ? { usageMetadata: at === last ? usage : { promptTokenCount: usage.promptTokenCount } } : {}),
      modelVersion: 'gemini',
      responseId: 'r1',
    }),
  )
}

/** Derives each vector from its text's length and its index. */
function embeddings({ json }: VendorRequest): VendorScript {
  const vectors = json.requests.map(({ content, outputDimensionality = 4 }: Loose, at: number) => {
    const values = Array.from({ length: outputDimensionality }, (_, place) => content.parts[0].text.length + at + place)
    return { values }
  })
  return { body: { embeddings: vectors, usageMetadata: { promptTokenCount: vectors.length } } }
}

/** Returns the error of the real API, or null. */
function refused({ json, query }: VendorRequest, model: string): string | null {
  if (query.get('alt') !== 'sse') return 'this server streams events alone'
  const { contents, tools = [], generationConfig = {} } = json
  if (!Array.isArray(contents) || contents.length === 0) return 'contents is not specified'
  if ((generationConfig.stopSequences ?? []).length > 5) return 'at most 5 stop sequences'
  const declared = tools.flatMap(({ functionDeclarations }: Json) => functionDeclarations)
  if (declared.some(({ name }: { name: string }) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name)))
    return 'Invalid function name. Must start with a letter or an underscore.'
  for (const [at, { role, parts }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (!Array.isArray(parts) || parts.length === 0) return 'must include at least one parts field'
    if (parts.some(({ text }: Json) => text === '')) return 'text part must not be empty'
    const before = count(contents[at - 1]?.parts, 'functionCall')
    if (role === 'user' && count(parts, 'functionResponse') !== before)
      return 'the number of function response parts must equal the number of function call parts of the function call turn'
    const first = parts.find(({ functionCall }: Json) => functionCall)
    if (/gemini-3/.test(model) && first && !first.thoughtSignature)
      return 'Function call is missing a thought_signature in functionCall parts.'
  }
  return null
}

function count(parts: unknown, name: string): number {
  return Array.isArray(parts) ? parts.filter((part) => name in part).length : 0
}

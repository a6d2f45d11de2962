// A model with a few thousand random weights as a GGUF file (version 3), written from the format's documentation. It is a llama of two
// layers whose tokens are bytes and printable characters. Engines run it; its text is noise, the same for the same seed.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
import { float32, header, list, TYPE, text, uint32, uint64, value } from './gguf.ts'

export interface TinyModel {
  /** The seed of its weights. */
  seed?: number
  context_length?: number
  name?: string
  /** The architecture in its header. */
  architecture?: string
  /** How it combines the vectors of a text. Absent: it is a model for chat. */
  pooling?: number
}

const EMBEDDING = 32
const FEED_FORWARD = 64
const LAYERS = 2
const HEADS = 4
const ALIGNMENT = 32

/** The types of tensors. */
const F32 = 0

/** The types of tokens in a vocabulary of the kind `llama`. */
const TOKEN = { normal: 1, unknown: 2, control: 3, byte: 6 } as const

const TEMPLATE =
  "{% for message in messages %}{{ '[' + message['role'] + '] ' + message['content'] + '</s>' }}{% endfor %}{% if add_generation_prompt %}{{ '[assistant] ' }}{% endif %}"

interface Token {
  readonly text: string
  readonly type: number
}

const VOCABULARY: readonly Token[] = [
  { text: '<unk>', type: TOKEN.unknown },
  { text: '<s>', type: TOKEN.control },
  { text: '</s>', type: TOKEN.control },
  ...Array.from({ length: 256 }, (_, byte) => ({
    text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    type: TOKEN.byte,
  })),
  // The kind `llama` writes a space as U+2581.
  { text: '\u2581', type: TOKEN.normal },
  ...Array.from({ length: 94 }, (_, at) => ({ text: String.fromCharCode(0x21 + at), type: TOKEN.normal })),
]

/** Returns the whole file. */
export function tinyModel(model: TinyModel = {}): Buffer {
  const tensors = tensorsOf(model.seed ?? 1)
  const values = valuesOf(model)
  let offset = 0
  const infos = tensors.map(({ name, shape, data }) => {
    const info = Buffer.concat([text(name), uint32(shape.length), ...shape.map(uint64), uint32(F32), uint64(offset)])
    offset += padded(data.length)
    return info
  })
  const head = Buffer.concat([header(tensors.length, values), ...infos])
  return Buffer.concat([aligned(head), ...tensors.map(({ data }) => aligned(data))])
}

function valuesOf({ context_length = 2048, name = 'Tiny', architecture = 'llama', pooling }: TinyModel): Buffer[] {
  const number = (key: string, given: number) => value(`${architecture}.${key}`, TYPE.uint32, uint32(given))
  return [
    value('general.architecture', TYPE.string, text(architecture)),
    value('general.name', TYPE.string, text(name)),
    number('context_length', context_length),
    number('embedding_length', EMBEDDING),
    number('block_count', LAYERS),
    number('feed_forward_length', FEED_FORWARD),
    number('attention.head_count', HEADS),
    number('attention.head_count_kv', HEADS),
    number('rope.dimension_count', EMBEDDING / HEADS),
    number('vocab_size', VOCABULARY.length),
    ...(pooling === undefined ? [] : [number('pooling_type', pooling)]),
    value(`${architecture}.attention.layer_norm_rms_epsilon`, TYPE.float32, float32(1e-5)),
    value('tokenizer.ggml.model', TYPE.string, text('llama')),
    listed(
      'tokenizer.ggml.tokens',
      TYPE.string,
      VOCABULARY.map((token) => text(token.text)),
    ),
    listed(
      'tokenizer.ggml.scores',
      TYPE.float32,
      VOCABULARY.map(() => float32(0)),
    ),
    listed(
      'tokenizer.ggml.token_type',
      TYPE.int32,
      VOCABULARY.map(({ type }) => uint32(type)),
    ),
    value('tokenizer.ggml.unknown_token_id', TYPE.uint32, uint32(0)),
    value('tokenizer.ggml.bos_token_id', TYPE.uint32, uint32(1)),
    value('tokenizer.ggml.eos_token_id', TYPE.uint32, uint32(2)),
    value('tokenizer.ggml.add_bos_token', TYPE.bool, Buffer.from([1])),
    value('tokenizer.chat_template', TYPE.string, text(TEMPLATE)),
  ]
}

interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Buffer
}

function tensorsOf(seed: number): Tensor[] {
  const next = randomNumbers(seed)
  const weights = (name: string, ...shape: number[]): Tensor => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => next() - 0.5)
    return { name: `${name}.weight`, shape, data: Buffer.from(values.buffer) }
  }
  const norm = (name: string): Tensor => ({
    name: `${name}.weight`,
    shape: [EMBEDDING],
    data: Buffer.from(new Float32Array(EMBEDDING).fill(1).buffer),
  })
  const layer = (at: number) => [
    norm(`blk.${at}.attn_norm`),
    ...['q', 'k', 'v', 'output'].map((part) => weights(`blk.${at}.attn_${part}`, EMBEDDING, EMBEDDING)),
    norm(`blk.${at}.ffn_norm`),
    weights(`blk.${at}.ffn_gate`, EMBEDDING, FEED_FORWARD),
    weights(`blk.${at}.ffn_down`, FEED_FORWARD, EMBEDDING),
    weights(`blk.${at}.ffn_up`, EMBEDDING, FEED_FORWARD),
  ]
  return [
    weights('token_embd', EMBEDDING, VOCABULARY.length),
    norm('output_norm'),
    weights('output', EMBEDDING, VOCABULARY.length),
    ...Array.from({ length: LAYERS }, (_, at) => layer(at)).flat(),
  ]
}

/** A random number from 0 to 1, the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function listed(key: string, type: number, values: readonly Buffer[]): Buffer {
  return value(key, TYPE.array, list(type, values))
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT
}

function aligned(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])
}

// Vectors of texts in OpenAI's form: as a server gives them that speaks its protocol, or of what another provider gives.
import type { CreateEmbeddingRequest, EmbeddingList } from '../../generated/types.ts'
import { userKey } from '../db/scope.ts'
import type { ModelUse } from '../engine/services.ts'
import { ServiceError } from '../errors.ts'
import { jsonInSlices } from '../json-steps.ts'
import { customerCalling } from '../models/customer.ts'
import { embeddingEstimate } from '../models/estimate.ts'
import type { Found } from '../models/finding.ts'
import type { Models } from '../models/models.ts'
import { inputsIn } from '../models/openai-embeddings.ts'
import { embeddingUse } from '../models/tally.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps } from '../time-slices.ts'
import { type Counted, countedOf } from './chunk-facts.ts'
import { isRecord, isText, type Json, withFields } from './json-values.ts'
import { holdsSecret, mayHideSecret, withoutSecretsInValue } from './secret-texts.ts'
import { failureOf, ToldFailure } from './told-failure.ts'
import { ask, type Given, type Upstreamed, wholeAnswer } from './upstreamed.ts'
import { useOf } from './usage.ts'
import { VectorsReader } from './vectors-reader.ts'

/** In bytes: 2048 vectors of 3072 numbers, as text. */
const LONGEST_LIST = 134_217_728

interface Wanted extends Omit<Upstreamed<CreateEmbeddingRequest>, 'upstream'> {
  readonly redactor: Redactor
}

/** @throws ServiceError, ProviderError; the signal's reason */
export async function embeddings(models: Models, wanted: Wanted): Promise<Given> {
  const { upstream } = wanted.found.provider
  const body = upstream ? await passed({ ...wanted, upstream }) : await textOf(models, wanted)
  return { headers: {}, body }
}

async function passed(way: Wanted & Upstreamed<CreateEmbeddingRequest>): Promise<Uint8Array> {
  const { asked, found, redactor } = way
  // Some servers take a conversation in the place of the input, and fetch the pictures at the addresses in it.
  if ('messages' in asked.body) throw refused('messages', 'Vectors are made of an input.')
  const customer = customerCalling(way.customer, found)
  const { input } = asked.body
  const texts = textsOf(input)
  customer.admit()
  using held = customer.hold?.(() => embeddingEstimate(found, texts)) ?? null
  const answer = await ask(way, '/embeddings', false)
  const reader = new VectorsReader(inputsIn(input), {
    value: (value) => withoutSecretsInValue(value, redactor),
    isIn: (text) => mayHideSecret(text, redactor) && holdsSecret(text, redactor),
  })
  const own = embeddingUse(found, texts, tokensIn(input))
  let use: ModelUse | null = own
  try {
    await wholeAnswer(found, answer, LONGEST_LIST, (bytes) => reader.take(bytes))
    const given = reader.end()
    use = counting(found, own, countedOf(given.usage))
    const wanted = withoutSecretsInValue(owed(given, found, use.input_tokens), redactor)
    return await way.slices.run(userKey(asked.owner), reader.bytes(given, wanted))
  } catch (cause) {
    if (cause instanceof ToldFailure) use = cause.counted && counting(found, own, cause.counted)
    throw failureOf(found, cause)
  } finally {
    held?.[Symbol.dispose]()
    if (use) customer.charge(use)
  }
}

/** What a call used by its server's count, and as it is counted here where that says nothing. */
function counting(found: Found, own: ModelUse, counted: Counted | null): ModelUse {
  return useOf(found, {
    input_tokens: counted?.input_tokens || own.input_tokens,
    output_tokens: 0,
    ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
  })
}

/** A list of vectors with everything that the contract requires around them; itself where it lacks nothing. */
function owed(given: Json, { model }: Found, tokens: number): Json {
  const usage = isRecord(given.usage) ? given.usage : {}
  const { total_tokens: total } = usage
  const isOwn = usage.prompt_tokens === tokens && Number.isSafeInteger(total) && (total as number) > 0
  return withFields(given, {
    object: 'list',
    model: isText(given.model) ? given.model : model.id,
    usage: withFields(usage, { prompt_tokens: tokens, total_tokens: isOwn ? total : tokens }),
  })
}

/** Tokens that came as such; 0 for texts. */
function tokensIn(input: CreateEmbeddingRequest['input']): number {
  if (typeof input === 'string') return 0
  return input.reduce<number>(
    (sum, one) => sum + (typeof one === 'number' ? 1 : Array.isArray(one) ? one.length : 0),
    0,
  )
}

function textsOf(input: CreateEmbeddingRequest['input']): string[] {
  return [input].flat(2).filter((one) => typeof one === 'string')
}

/** What providers that speak another protocol honour. */
const HONOURED: readonly string[] = ['model', 'input', 'dimensions', 'encoding_format', 'user']

/** Two thousand vectors of thousands of numbers are a hundred million characters. */
async function textOf(models: Models, wanted: Wanted): Promise<string> {
  return jsonInSlices(wanted.slices, userKey(wanted.asked.owner), await made(models, wanted))
}

async function made(models: Models, { asked, found, customer, signal, slices }: Wanted): Promise<EmbeddingList> {
  const { body } = asked
  const { model, input, dimensions, encoding_format } = body
  const unknown = Object.keys(body).find((name) => !HONOURED.includes(name) && body[name] !== null)
  if (unknown !== undefined) throw refused(unknown, `The provider "${found.provider.name}" does not honour it.`)
  const texts = textsOf(input)
  if (tokensIn(input) > 0) throw refused('input', `The provider "${found.provider.name}" takes texts, and no tokens.`)
  let input_tokens = 0
  const used = (use: { input_tokens: number }) => {
    input_tokens = use.input_tokens
  }
  const asks = { model, input: texts, ...(dimensions ? { dimensions } : {}) }
  const vectors = await models.embed({ body: asks, signal, used }, customer)
  const data = await slices.run(userKey(asked.owner), dataSteps(vectors, encoding_format === 'base64'))
  return { object: 'list', data, model, usage: { prompt_tokens: input_tokens, total_tokens: input_tokens } }
}

function* dataSteps(vectors: readonly (readonly number[])[], as_text: boolean): Steps<EmbeddingList['data']> {
  const data: EmbeddingList['data'] = []
  for (const [index, vector] of vectors.entries()) {
    data.push({ object: 'embedding', index, embedding: as_text ? base64(vector) : [...vector] })
    yield
  }
  return data
}

function refused(param: string, message: string): ServiceError {
  const problems = [{ path: `/body/${param}`, message }]
  return new ServiceError('INVALID_REQUEST', { message: `/body/${param}: ${message}`, param, problems })
}

/** Little-endian floats of 32 bits, whatever the machine has. */
function base64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, number] of vector.entries()) bytes.writeFloatLE(number, at * 4)
  return bytes.toString('base64')
}

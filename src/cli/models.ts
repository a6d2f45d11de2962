// `svc models`: lists the available models, and tells why a provider has none.

import { operatorResources } from '../composition/node-services.ts'
import type { Config } from '../config.ts'
import { ModelListCache } from '../models/catalogue/model-list-cache.ts'
import { findUnavailability } from '../models/catalogue/provider-models.ts'
import type { Model, ModelPrice, Provider } from '../models/provider.ts'
import { ProviderError } from '../models/provider-error.ts'
import { createConfiguredProviders } from '../models/providers/configured-providers.ts'
import { discoverModelServers } from '../models/providers/local-server-discovery.ts'
import { UpstreamClient } from '../net/upstream/client.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, EXIT_CODES, outputColumns, stopExitCode, type Terminal, writeOutput } from './shared/terminal.ts'
import { formatInteger, pluralize, toSingleLine, wrapText } from './shared/terminal-text.ts'

type ModelsSubcommand = (args: readonly string[], terminal: Terminal, config: Config) => Promise<number>

/** Subcommands, which cannot be names of providers. */
const SUBCOMMANDS: Readonly<Record<string, ModelsSubcommand>> = {
  pull: async (...given) => (await import('./models-pull.ts')).runModelsPullCommand(...given),
}

const OPTIONS = { json: { type: 'boolean', default: false } } as const

/**
 * `ready`: the provider has usable models. `no_key`: its key is missing, or refused. `failed`: it does not answer properly, or none of its models is
 * usable.
 */
type Status = 'ready' | 'no_key' | 'failed'

interface ProviderListing {
  readonly provider: Provider
  readonly status: Status
  /** Null if the provider is ready. */
  readonly reason: string | null
  readonly models: readonly Model[]
}

/** Runs the command and returns its exit code. @throws CommandError */
export async function runModelsCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const command = Object.hasOwn(SUBCOMMANDS, args[0] ?? '') ? SUBCOMMANDS[args[0]!]! : listProviders
  return command(command === listProviders ? args : args.slice(1), terminal, config)
}

const listProviders: ModelsSubcommand = async (args, { stdout, stop }, config) => {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 0, most: 1, what: 'PROVIDER' })
  const [name] = positionals
  await using client = new UpstreamClient()
  using providers = createConfiguredProviders({ config, client })
  if (config.probe_local_models) await discoverModelServers(providers, { client }, stop)
  const asked = providers.all().filter((provider) => name === undefined || provider.name === name)
  if (asked.length === 0) throw unknownProviderError(name!, providers.all())
  const model_lists = new ModelListCache({ now: Date.now })
  const seen = await Promise.all(asked.map((provider) => readProviderListing(provider, model_lists, config, stop)))
  if (stop.aborted) return stopExitCode(stop)
  const text = values.json
    ? `${JSON.stringify(seen.map(toJsonEntry), null, 2)}\n`
    : formatListings(seen, outputColumns(stdout))
  await writeOutput(stdout, text)
  return name === undefined || seen[0]!.status === 'ready' ? EXIT_CODES.completed : EXIT_CODES.failed
}

function unknownProviderError(name: string, providers: readonly Provider[]): CommandError {
  const known = providers.map((one) => one.name).join(', ')
  const cure = 'SVC_MODEL_SERVERS names others, as name=URL.'
  return new CommandError(EXIT_CODES.failed, `there is no provider "${name}"; there are ${known}. ${cure}`)
}

async function readProviderListing(
  provider: Provider,
  model_lists: ModelListCache,
  config: Config,
  stop: AbortSignal,
): Promise<ProviderListing> {
  const { credential: secret, keyless } = provider
  const key = secret === null ? null : operatorResources(config).billing.key(secret)
  if (secret !== null && key === null && !keyless)
    return { provider, status: 'no_key', reason: `no key: set ${secret}`, models: [] }
  try {
    const all = await model_lists.list(provider, key, stop)
    const reason = findUnavailability(provider, all)
    return { provider, status: reason === null ? 'ready' : 'failed', reason, models: all }
  } catch (error) {
    const status = error instanceof ProviderError && error.fault === 'no_key' ? 'no_key' : 'failed'
    return { provider, status, reason: describeFailure(error, secret, key), models: [] }
  }
}

/** The message of a ProviderError is safe to show; of other errors only the fact is shown. */
function describeFailure(error: unknown, secret: string | null, key: string | null): string {
  if (!(error instanceof ProviderError)) return 'it did not list its models in time, or its list is not valid'
  const without = error.fault === 'no_key' && key === null && secret !== null
  return without ? `it needs a key: set ${secret}` : error.message
}

function toJsonEntry({ provider, status, reason, models: all }: ProviderListing) {
  const { name, title, kind, base_url, credential } = provider
  return { name, title, kind, base_url: base_url ?? null, credential, status, reason, models: all }
}

function formatListings(seen: readonly ProviderListing[], columns: number): string {
  const parts = seen.map((one) => `${formatProvider(one, columns)}\n${formatModels(one, columns)}`)
  const total = seen.reduce((sum, one) => sum + one.models.filter(isUsable).length, 0)
  const ready = seen.filter(({ status }) => status === 'ready').length
  const summary = `${pluralize(total, 'model')}; ${ready} of ${pluralize(seen.length, 'provider')} ready.\n`
  return `${parts.join('\n')}\n${summary}${formatPriceDates(seen, columns)}`
}

/** The dates of prices that providers do not list themselves. Empty if there are none. */
function formatPriceDates(seen: readonly ProviderListing[], columns: number): string {
  const dated = seen.flatMap(({ provider, models: all }) => {
    const as_of = all.find(({ price, unavailable }) => price?.as_of !== undefined && unavailable === undefined)?.price
      ?.as_of
    return as_of === undefined ? [] : [{ name: provider.name, as_of }]
  })
  if (dated.length === 0) return ''
  const days = [...Map.groupBy(dated, ({ as_of }) => as_of)].sort(([a], [b]) => (a < b ? -1 : 1))
  const said = days.map(([as_of, all]) => `${as_of} for ${all.map(({ name }) => name).join(', ')}`)
  return `${wrapText('', `Prices that a provider does not list itself are as of ${said.join('; ')}.`, columns)}\n`
}

/** `openai (https://api.openai.com/v1): no key: set OPENAI_API_KEY`. */
function formatProvider(
  { provider: { name, kind, base_url, left_out = 0 }, reason, models: all }: ProviderListing,
  columns: number,
): string {
  const where = base_url === undefined ? '' : ` (${base_url})`
  const passed_over = left_out > 0 ? `; ${left_out} more in its list cannot be read` : ''
  const none = kind === 'local' && all.length === 0 ? ': svc models pull OWNER/NAME FILE.gguf fetches one' : ''
  const found = reason ?? `${pluralize(all.length, 'model')}${passed_over}${none}`
  return wrapWithCommand(`${name}${where}: ${toSingleLine(found)}`, columns)
}

/** A command at the end of a text gets lines of its own, which can be pasted into a shell unchanged. */
function wrapWithCommand(text: string, columns: number): string {
  const [, before, command] = /^(.*: )(npm install .*)$/.exec(text) ?? []
  if (before === undefined || command === undefined) return wrapText('', text, columns, 2)
  const lines = wrapText('    ', command, columns - CONTINUED.length, 6).replaceAll('\n', `${CONTINUED}\n`)
  return `${wrapText('', before.trimEnd(), columns, 2)}\n${lines}`
}

/** The end of a continued line. */
const CONTINUED = ' \\'

/** With fewer columns than this, the facts stand below the name. */
const LEAST_FACTS = 30

function formatModels({ models: all, reason }: ProviderListing, columns: number): string {
  const ids = all.map(({ id }) => toSingleLine(id))
  const width = Math.max(0, ...ids.map((id) => id.length))
  const beside = width + LEAST_FACTS <= columns
  const rows = all.map((model, at) => {
    const first = beside ? `  ${ids[at]!.padEnd(width)}  ` : '    '
    return `${beside ? '' : `  ${ids[at]}\n`}${wrapText(first, formatModelFacts(model, reason), columns)}\n`
  })
  return rows.join('')
}

function isUsable({ unavailable }: Model): boolean {
  return unavailable === undefined
}

/** `chat, 128,000 tokens, USD 0.15 in and 0.60 out for a million`; or why the model is not usable, unless `told` says so above. */
function formatModelFacts({ tasks, context_length, price, unavailable }: Model, told: string | null): string {
  if (unavailable !== undefined && unavailable !== told) return toSingleLine(unavailable)
  const facts = [
    tasks.join(' and ') || 'neither chat nor embedding',
    context_length ? `${formatInteger(context_length)} tokens` : null,
    price === null ? 'price not known' : isFree(price) ? 'free' : formatPrice(price),
  ]
  return facts.filter((fact) => fact !== null).join(', ')
}

function isFree({ per_request, per_million_input_tokens, per_million_output_tokens }: ModelPrice): boolean {
  return per_request + per_million_input_tokens + per_million_output_tokens === 0
}

function formatPrice({
  currency,
  per_request,
  per_million_input_tokens,
  per_million_output_tokens,
}: ModelPrice): string {
  const each = per_request === 0 ? '' : `, and ${per_request} a call`
  return `${currency} ${per_million_input_tokens} in and ${per_million_output_tokens} out for a million tokens${each}`
}

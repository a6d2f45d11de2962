// `svc models`: which models there are, and why a provider has none, for whoever has to find that out at night.
import type { Config } from '../config.ts'
import { lackOf } from '../models/catalogue.ts'
import { configuredProviders } from '../models/configured.ts'
import { discover } from '../models/discovery.ts'
import { Listings } from '../models/listings.ts'
import type { Model, ModelPrice, Provider } from '../models/provider.ts'
import { ProviderError } from '../models/provider-error.ts'
import { UpstreamClient } from '../net/upstream.ts'
import { environmentSecrets } from '../services.ts'
import { readArguments } from './arguments.ts'
import { CommandError, columnsOf, EXIT, print, stopCode, type Terminal } from './terminal.ts'
import { counted, grouped, oneLine, wrapped } from './text.ts'

type Command = (args: readonly string[], terminal: Terminal, config: Config) => Promise<number>

/** What follows `svc models` and is no name of a provider. */
const COMMANDS: Readonly<Record<string, Command>> = {
  pull: async (...given) => (await import('./models-pull.ts')).pull(...given),
}

const OPTIONS = { json: { type: 'boolean', default: false } } as const

/** `ready`: it has models to ask. `no_key`: its key is missing, or refused. `failed`: it does not answer as it should, or none of its models can be asked. */
type Status = 'ready' | 'no_key' | 'failed'

interface Seen {
  readonly provider: Provider
  readonly status: Status
  /** Null where it is ready. */
  readonly reason: string | null
  readonly models: readonly Model[]
}

/** Runs the command and gives its exit code. @throws CommandError */
export async function models(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const command = Object.hasOwn(COMMANDS, args[0] ?? '') ? COMMANDS[args[0]!]! : list
  return command(command === list ? args : args.slice(1), terminal, config)
}

const list: Command = async (args, { stdout, stop }, config) => {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 0, most: 1, what: 'PROVIDER' })
  const [name] = positionals
  await using client = new UpstreamClient()
  using providers = configuredProviders({ config, client })
  if (config.probe_local_models) await discover(providers, { client }, stop)
  const asked = providers.all().filter((provider) => name === undefined || provider.name === name)
  if (asked.length === 0) throw unknown(name!, providers.all())
  const listings = new Listings({ now: Date.now })
  const seen = await Promise.all(asked.map((provider) => look(provider, listings, config, stop)))
  if (stop.aborted) return stopCode(stop)
  const text = values.json ? `${JSON.stringify(seen.map(entryOf), null, 2)}\n` : listed(seen, columnsOf(stdout))
  await print(stdout, text)
  return name === undefined || seen[0]!.status === 'ready' ? EXIT.completed : EXIT.failed
}

function unknown(name: string, providers: readonly Provider[]): CommandError {
  const known = providers.map((one) => one.name).join(', ')
  const cure = 'SVC_MODEL_SERVERS names others, as name=URL.'
  return new CommandError(EXIT.failed, `there is no provider "${name}"; there are ${known}. ${cure}`)
}

async function look(provider: Provider, listings: Listings, config: Config, stop: AbortSignal): Promise<Seen> {
  const { credential: secret, keyless } = provider
  const key = secret === null ? null : environmentSecrets(config).customer.key(secret)
  if (secret !== null && key === null && !keyless)
    return { provider, status: 'no_key', reason: `no key: set ${secret}`, models: [] }
  try {
    const all = await listings.of(provider, key, stop)
    const reason = lackOf(provider, all)
    return { provider, status: reason === null ? 'ready' : 'failed', reason, models: all }
  } catch (error) {
    const status = error instanceof ProviderError && error.fault === 'no_key' ? 'no_key' : 'failed'
    return { provider, status, reason: reasonOf(error, secret, key), models: [] }
  }
}

/** What is known of it is safe to show; of anything else only that it went wrong. */
function reasonOf(error: unknown, secret: string | null, key: string | null): string {
  if (!(error instanceof ProviderError)) return 'it did not list its models in time, or not as it should'
  const without = error.fault === 'no_key' && key === null && secret !== null
  return without ? `it wants a key: set ${secret}` : error.message
}

function entryOf({ provider, status, reason, models: all }: Seen) {
  const { name, title, kind, base_url, credential } = provider
  return { name, title, kind, base_url: base_url ?? null, credential, status, reason, models: all }
}

function listed(seen: readonly Seen[], columns: number): string {
  const parts = seen.map((one) => `${headOf(one, columns)}\n${rowsOf(one, columns)}`)
  const total = seen.reduce((sum, one) => sum + one.models.filter(isUsable).length, 0)
  const ready = seen.filter(({ status }) => status === 'ready').length
  const summary = `${counted(total, 'model')}; ${ready} of ${counted(seen.length, 'provider')} ready.\n`
  return `${parts.join('\n')}\n${summary}${datesOf(seen, columns)}`
}

/** Of when the prices are that providers do not list themselves: `Prices as of 2026-10-07: google.` Nothing where there are none. */
function datesOf(seen: readonly Seen[], columns: number): string {
  const dated = seen.flatMap(({ provider, models: all }) => {
    const as_of = all.find(({ price, unavailable }) => price?.as_of !== undefined && unavailable === undefined)?.price
      ?.as_of
    return as_of === undefined ? [] : [{ name: provider.name, as_of }]
  })
  if (dated.length === 0) return ''
  const days = [...Map.groupBy(dated, ({ as_of }) => as_of)].sort(([a], [b]) => (a < b ? -1 : 1))
  const said = days.map(([as_of, all]) => `${as_of} for ${all.map(({ name }) => name).join(', ')}`)
  return `${wrapped('', `Prices that a provider does not list itself are as of ${said.join('; ')}.`, columns)}\n`
}

/** `openai (https://api.openai.com/v1): no key: set OPENAI_API_KEY`. */
function headOf(
  { provider: { name, kind, base_url, left_out = 0 }, reason, models: all }: Seen,
  columns: number,
): string {
  const where = base_url === undefined ? '' : ` (${base_url})`
  const passed_over = left_out > 0 ? `; ${left_out} more in its list cannot be read` : ''
  const none = kind === 'local' && all.length === 0 ? ': svc models pull OWNER/NAME FILE.gguf fetches one' : ''
  const found = reason ?? `${counted(all.length, 'model')}${passed_over}${none}`
  return withCommand(`${name}${where}: ${oneLine(found)}`, columns)
}

/** A command at the end of a text gets lines of its own, which can be pasted into a shell as they are. */
function withCommand(text: string, columns: number): string {
  const [, before, command] = /^(.*: )(npm install .*)$/.exec(text) ?? []
  if (before === undefined || command === undefined) return wrapped('', text, columns, 2)
  const lines = wrapped('    ', command, columns - CONTINUED.length, 6).replaceAll('\n', `${CONTINUED}\n`)
  return `${wrapped('', before.trimEnd(), columns, 2)}\n${lines}`
}

/** At the end of a line that goes on. */
const CONTINUED = ' \\'

/** In fewer columns than this they stand below the name. */
const LEAST_FACTS = 30

function rowsOf({ models: all, reason }: Seen, columns: number): string {
  const ids = all.map(({ id }) => oneLine(id))
  const width = Math.max(0, ...ids.map((id) => id.length))
  const beside = width + LEAST_FACTS <= columns
  const rows = all.map((model, at) => {
    const first = beside ? `  ${ids[at]!.padEnd(width)}  ` : '    '
    return `${beside ? '' : `  ${ids[at]}\n`}${wrapped(first, factsOf(model, reason), columns)}\n`
  })
  return rows.join('')
}

function isUsable({ unavailable }: Model): boolean {
  return unavailable === undefined
}

/** `chat, 128,000 tokens, USD 0.15 in and 0.60 out for a million`; or why it cannot be asked, unless that is `told` above. */
function factsOf({ tasks, context_length, price, unavailable }: Model, told: string | null): string {
  if (unavailable !== undefined && unavailable !== told) return oneLine(unavailable)
  const facts = [
    tasks.join(' and ') || 'neither chat nor embedding',
    context_length ? `${grouped(context_length)} tokens` : null,
    price === null ? 'price not known' : isFree(price) ? 'free' : priceText(price),
  ]
  return facts.filter((fact) => fact !== null).join(', ')
}

function isFree({ per_request, per_million_input_tokens, per_million_output_tokens }: ModelPrice): boolean {
  return per_request + per_million_input_tokens + per_million_output_tokens === 0
}

function priceText({ currency, per_request, per_million_input_tokens, per_million_output_tokens }: ModelPrice): string {
  const each = per_request === 0 ? '' : `, and ${per_request} a call`
  return `${currency} ${per_million_input_tokens} in and ${per_million_output_tokens} out for a million tokens${each}`
}

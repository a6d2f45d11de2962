// `svc models pull`: fetches files of models into the models folder, without a server.
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../access/principal.ts'
import type { Config } from '../config.ts'
import type { Wanted } from '../downloads/choosing.ts'
import { Downloads } from '../downloads/downloads.ts'
import { OTHER_HUB } from '../downloads/hub.ts'
import { ServiceError } from '../errors.ts'
import { createLog } from '../log.ts'
import { modelsFolder } from '../models/local-files.ts'
import { environmentSecrets } from '../services.ts'
import { readArguments } from './arguments.ts'
import { CommandError, columnsOf, EXIT, isLive, print, stopCode, type Terminal, UsageError } from './terminal.ts'
import { oneLine } from './text.ts'

const OPTIONS = {
  hub: { type: 'string' },
  include: { type: 'string', multiple: true },
  exclude: { type: 'string', multiple: true },
} as const

const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$/

/** Runs the command and gives its exit code. @throws CommandError */
export async function pull(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 2, what: 'REPO' })
  const [repo_id, path = null] = positionals as [string, string?]
  if (!REPOSITORY.test(repo_id)) throw new UsageError('REPO is a repository of the hub, such as owner/name')
  guardPattern('include', values.include)
  guardPattern('exclude', values.exclude)
  if (path === '') throw new UsageError('FILE is the name of a file')
  const wanted = { repo_id, path, model_type: 'model', allow: values.include ?? null, ignore: values.exclude ?? [] }
  const folder = modelsFolder(config)
  await using downloads = new Downloads({
    folder,
    hub_url: hubUrl(values.hub ?? config.model_hub_url),
    allow: config.http_node_allow,
    log: createLog('silent'),
  })
  const end = await followed(downloads, wanted, environmentSecrets(config).customer.key('HF_TOKEN'), terminal)
  if (end === null) {
    await print(terminal.stderr, 'svc: stopped; what is stored is kept, and the same command goes on\n')
    return stopCode(terminal.stop)
  }
  if (end.status === 'failed') throw new CommandError(EXIT.failed, inOwnWords(oneLine(end.error)))
  await print(terminal.stderr, `${lineOf(end)}\n`)
  await print(terminal.stdout, `${folder}/${repo_id}${path === null ? '' : `/${path}`}\n`)
  return EXIT.completed
}

/** A command has a hub of its own as well. */
function inOwnWords(text: string): string {
  return text.replace(OTHER_HUB, `--hub or ${OTHER_HUB}`)
}

/** How it ended; null where it was stopped. */
async function followed(
  downloads: Downloads,
  wanted: Wanted,
  key: string | null,
  { stderr, environment, stop }: Terminal,
): Promise<DownloadUpdateFrame | null> {
  const { promise, resolve } = Promise.withResolvers<DownloadUpdateFrame | null>()
  const live = isLive(stderr, environment)
  const columns = columnsOf(stderr)
  downloads.follow(LOCAL_PRINCIPAL, wanted, (update) => {
    if (live) stderr.write(`\r\u001b[K${lineOf(update).slice(0, columns - 1)}`)
    if (update.status !== 'start' && update.status !== 'progress') resolve(update)
  })
  stop.addEventListener('abort', () => resolve(null), { once: true })
  try {
    downloads.start(LOCAL_PRINCIPAL, wanted, key)
    return stop.aborted ? null : await promise
  } catch (error) {
    throw error instanceof ServiceError ? refusalOf(error, wanted) : error
  } finally {
    if (live) stderr.write('\r\u001b[K')
  }
}

/** The problem in words of the command line, and not of the socket's frame. */
function refusalOf({ problems: [problem], publicMessage }: ServiceError, { repo_id, path }: Wanted): CommandError {
  const [what, given] = problem?.path === '/data/path' ? ['FILE', path] : ['REPO', repo_id]
  return new CommandError(EXIT.invalid, problem ? `${what} "${given}" ${problem.message}` : publicMessage)
}

/** An empty one, such as a shell makes of a variable that is not set, fits nothing. */
function guardPattern(name: string, patterns: readonly string[] = []): void {
  if (patterns.includes('')) throw new UsageError(`--${name} takes a pattern, such as *.gguf`)
}

function hubUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !/[@?#]/.test(text)) return text.replace(/\/+$/, '')
  throw new UsageError('--hub takes an http or https URL')
}

/** `owner/name: 12.3 of 45.6 MB, 1 of 3 files`. */
function lineOf({
  repo_id,
  downloaded_bytes,
  total_bytes,
  downloaded_files,
  total_files,
}: DownloadUpdateFrame): string {
  if (total_bytes === null || total_files === null) return `${repo_id}: reads the list of files`
  const files = `${downloaded_files} of ${total_files} ${total_files === 1 ? 'file' : 'files'}`
  return `${repo_id}: ${megabytes(downloaded_bytes)} of ${megabytes(total_bytes)} MB, ${files}`
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
}

// `svc models pull`: downloads files of models into the models folder, without a server.
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../access/principal.ts'
import { operatorResources } from '../composition/node-services.ts'
import type { Config } from '../config.ts'
import type { DownloadRequest } from '../downloads/file-selection.ts'
import { OTHER_HUB_HINT } from '../downloads/hub-client.ts'
import { DownloadService } from '../downloads/service.ts'
import { ServiceError } from '../errors.ts'
import { createLog } from '../log.ts'
import { resolveModelsFolder } from '../models/providers/local/model-files.ts'
import { parseArguments } from './shared/arguments.ts'
import {
  CommandError,
  EXIT_CODES,
  isInteractive,
  outputColumns,
  stopExitCode,
  type Terminal,
  UsageError,
  writeOutput,
} from './shared/terminal.ts'
import { toSingleLine } from './shared/terminal-text.ts'

const OPTIONS = {
  hub: { type: 'string' },
  include: { type: 'string', multiple: true },
  exclude: { type: 'string', multiple: true },
} as const

const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$/

/** Runs the command and returns its exit code. @throws CommandError */
export async function runModelsPullCommand(
  args: readonly string[],
  terminal: Terminal,
  config: Config,
): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 1, most: 2, what: 'REPO' })
  const [repo_id, path = null] = positionals as [string, string?]
  if (!REPOSITORY.test(repo_id)) throw new UsageError('REPO must be a repository of the hub, such as owner/name')
  requirePattern('include', values.include)
  requirePattern('exclude', values.exclude)
  if (path === '') throw new UsageError('FILE must be the name of a file')
  const wanted = { repo_id, path, model_type: 'model', allow: values.include ?? null, ignore: values.exclude ?? [] }
  const folder = resolveModelsFolder(config)
  await using downloads = new DownloadService({
    folder,
    hub_url: parseHubUrl(values.hub ?? config.model_hub_url),
    allow: config.http_node_allow,
    log: createLog('silent'),
  })
  const end = await followDownload(downloads, wanted, operatorResources(config).billing.key('HF_TOKEN'), terminal)
  if (end === null) {
    await writeOutput(
      terminal.stderr,
      'svc: stopped; downloaded data is kept, and the same command continues the download\n',
    )
    return stopExitCode(terminal.stop)
  }
  if (end.status === 'failed') throw new CommandError(EXIT_CODES.failed, inCommandWords(toSingleLine(end.error)))
  await writeOutput(terminal.stderr, `${formatDownload(end)}\n`)
  await writeOutput(terminal.stdout, `${folder}/${repo_id}${path === null ? '' : `/${path}`}\n`)
  return EXIT_CODES.completed
}

/** The command has an option for the hub in addition to the setting. */
function inCommandWords(text: string): string {
  return text.replace(OTHER_HUB_HINT, `--hub or ${OTHER_HUB_HINT}`)
}

/** The last update of the download; null: it was stopped. */
async function followDownload(
  downloads: DownloadService,
  wanted: DownloadRequest,
  key: string | null,
  { stderr, environment, stop }: Terminal,
): Promise<DownloadUpdateFrame | null> {
  const { promise, resolve } = Promise.withResolvers<DownloadUpdateFrame | null>()
  const live = isInteractive(stderr, environment)
  const columns = outputColumns(stderr)
  downloads.follow(LOCAL_PRINCIPAL, wanted, (update) => {
    if (live) stderr.write(`\r\u001b[K${formatDownload(update).slice(0, columns - 1)}`)
    if (update.status !== 'start' && update.status !== 'progress') resolve(update)
  })
  stop.addEventListener('abort', () => resolve(null), { once: true })
  try {
    downloads.start(LOCAL_PRINCIPAL, wanted, key)
    return stop.aborted ? null : await promise
  } catch (error) {
    throw error instanceof ServiceError ? toRefusalError(error, wanted) : error
  } finally {
    if (live) stderr.write('\r\u001b[K')
  }
}

/** The problem with the names of the command line instead of those of the socket's frame. */
function toRefusalError(
  { problems: [problem], publicMessage }: ServiceError,
  { repo_id, path }: DownloadRequest,
): CommandError {
  const [what, given] = problem?.path === '/data/path' ? ['FILE', path] : ['REPO', repo_id]
  return new CommandError(EXIT_CODES.invalid, problem ? `${what} "${given}" ${problem.message}` : publicMessage)
}

/** An empty pattern, such as an unset shell variable yields, matches nothing. */
function requirePattern(name: string, patterns: readonly string[] = []): void {
  if (patterns.includes('')) throw new UsageError(`--${name} takes a pattern, such as *.gguf`)
}

function parseHubUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !/[@?#]/.test(text)) return text.replace(/\/+$/, '')
  throw new UsageError('--hub takes an http or https URL')
}

/** `owner/name: 12.3 of 45.6 MB, 1 of 3 files`. */
function formatDownload({
  repo_id,
  downloaded_bytes,
  total_bytes,
  downloaded_files,
  total_files,
}: DownloadUpdateFrame): string {
  if (total_bytes === null || total_files === null) return `${repo_id}: reading the list of files`
  const files = `${downloaded_files} of ${total_files} ${total_files === 1 ? 'file' : 'files'}`
  return `${repo_id}: ${formatMegabytes(downloaded_bytes)} of ${formatMegabytes(total_bytes)} MB, ${files}`
}

function formatMegabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
}

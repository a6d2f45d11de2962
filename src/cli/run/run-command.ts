// `svc run`: runs a workflow to its end in this process, directly on the engine, without a server, and without a database except for vectors.

import { createNodeServiceFactory, operatorResources } from '../../composition/node-services.ts'
import type { Config } from '../../config.ts'
import { isRunnable, type Plan } from '../../engine/compile/compiler.ts'
import type { VectorAccess } from '../../engine/node-api/services/vectors.ts'
import { type Execution, executePlan, type RunObserver } from '../../engine/runtime/execution.ts'
import { ModelService } from '../../models/calls/model-service.ts'
import { ModelListCache } from '../../models/catalogue/model-list-cache.ts'
import { createConfiguredProviders } from '../../models/providers/configured-providers.ts'
import { discoverModelServers } from '../../models/providers/local-server-discovery.ts'
import { UpstreamClient } from '../../net/upstream/client.ts'
import { builtinRegistry } from '../../nodes/registry.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { TimeSliceScheduler } from '../../shared/time-slices.ts'
import { RedactedVectors } from '../../vectors/redacted-vectors.ts'
import { parseArguments } from '../shared/arguments.ts'
import { InputReader } from '../shared/input-reader.ts'
import { CommandError, EXIT_CODES, isInteractive, type Terminal, UsageError, writeOutput } from '../shared/terminal.ts'
import { formatDuration, paintInColor, paintPlain, pluralize } from '../shared/terminal-text.ts'
import { type CalledWorkflows, resolveCalledWorkflows } from '../workflow/called-workflows.ts'
import { compileGraphFully } from '../workflow/graph-compilation.ts'
import { formatIssue, formatIssueTotal, issueFromGraph } from '../workflow/issues.ts'
import { openWorkflowFile, type WorkflowFile } from '../workflow/workflow-file.ts'
import { discoverOnFirstUse } from './lazy-model-discovery.ts'
import { formatTotalSoFar, LiveView } from './live-view.ts'
import { bundledAssetAccess, createRunToolAccess, limitRunCost, openRunVectors } from './node-services.ts'
import { readParams } from './params.ts'
import { createPlainView, createQuietView } from './plain-views.ts'
import { RunProgress } from './progress.ts'
import { createTerminalRedactor } from './redacted-outputs.ts'
import { type RunEnding, toRunEnding } from './result.ts'
import { withTerminalModelErrors, withTerminalSecretErrors } from './terminal-error-advice.ts'

const OPTIONS = {
  param: { type: 'string', multiple: true, default: [] as string[] },
  params: { type: 'string' },
  workflow: { type: 'string', multiple: true, default: [] as string[] },
  timeout: { type: 'string' },
  data: { type: 'string' },
  quiet: { type: 'boolean', default: false },
  'json-events': { type: 'boolean', default: false },
} as const

/** The longest time limit in seconds, as for jobs: a year. */
const MAX_TIMEOUT_SECONDS = 31_536_000

interface TerminalRun {
  readonly name: string
  readonly plan: Plan
  readonly params: Record<string, unknown>
  readonly called: CalledWorkflows
  /** Seconds, or null for no limit. */
  readonly timeout: number | null
  readonly vectors: VectorAccess
  /** Replaces the secrets of the environment in all that the run shows. */
  readonly redactor: Redactor
}

/** Runs the command and returns its exit code. @throws CommandError */
export async function runRunCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 1, most: 1, what: 'FILE' })
  if (values.quiet && values['json-events']) throw new UsageError('--quiet and --json-events exclude each other')
  if (values.data === '') throw new UsageError('--data takes a folder')
  const timeout = values.timeout === undefined ? config.job_timeout_seconds : parseTimeout(values.timeout)
  const reader = new InputReader(terminal, config.max_body_bytes)
  const file = await openWorkflowFile(positionals[0]!, reader)
  const plan = await requireRunnablePlan(file, terminal, values.quiet || values['json-events'])
  const called = await resolveCalledWorkflows(values.workflow, file.folder, builtinRegistry, reader)
  const given = { param: values.param, params: values.params ?? null }
  const params = await readParams(plan, { ...file.params }, given, reader)
  await using opened = await openRunVectors(values.data ?? null)
  const redactor = createTerminalRedactor(config.known_secrets)
  const vectors = new RedactedVectors({ vectors: opened.access, redactor, slices: new TimeSliceScheduler(), user: '' })
  const job = { name: file.name, plan, params, called, timeout, vectors, redactor }
  if (values['json-events']) return await runWithJsonEvents(job, terminal, config)
  return await runWithProgress(job, terminal, config, values.quiet)
}

function parseTimeout(text: string): number {
  const value = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= MAX_TIMEOUT_SECONDS) return value
  throw new UsageError(`--timeout takes seconds, more than 0 and at most ${MAX_TIMEOUT_SECONDS}, not "${text}"`)
}

async function requireRunnablePlan({ name, graph }: WorkflowFile, terminal: Terminal, quiet: boolean): Promise<Plan> {
  const compiled = await compileGraphFully(graph, builtinRegistry)
  const plan = isRunnable(compiled) ? compiled.plan : null
  const issues = compiled.issues.map(issueFromGraph)
  const paint = isInteractive(terminal.stderr, terminal.environment) ? paintInColor : paintPlain
  const lines = issues.map((issue) => `${formatIssue(issue, paint)}\n`)
  if ((!plan || !quiet) && lines.length > 0) await writeOutput(terminal.stderr, lines.join(''))
  if (plan) return plan
  throw new CommandError(EXIT_CODES.invalid, `${name} cannot run: ${formatIssueTotal(issues)}`)
}

/** Runs with a view of the progress, or quietly, with only the faults inside nodes. */
async function runWithProgress(job: TerminalRun, terminal: Terminal, config: Config, quiet: boolean): Promise<number> {
  const { stdout, stderr, stop, environment } = terminal
  const progress = new RunProgress(job.plan, () => performance.now())
  const total = () =>
    `${formatTotalSoFar(progress)}${stop.aborted ? ', cancelling (Ctrl-C again ends it at once)' : ''}`
  const live = !quiet && isInteractive(stderr, environment)
  const view = live
    ? new LiveView(progress, stderr, total)
    : quiet
      ? createQuietView(stderr)
      : createPlainView(progress, stderr)
  const ending = await executeRun(
    job,
    progress.observer(view, (message) => job.redactor.message(message)),
    stop,
    config,
  )
  progress.close()
  view.end(formatFinalTotal(ending, progress))
  if (ending.error !== null) await writeOutput(stderr, `svc: ${ending.error}\n`)
  if (ending.outputs !== null) await writeOutput(stdout, `${ending.outputs}\n`)
  return ending.code
}

async function runWithJsonEvents(
  job: TerminalRun,
  { stdout, stderr, stop }: Terminal,
  config: Config,
): Promise<number> {
  const { createJsonEventWriter } = await import('./json-events.ts')
  const events = createJsonEventWriter(job, stderr, config)
  const started = performance.now()
  const ending = await executeRun(job, events.observer, stop, config)
  events.end(ending.code, ending.error, Math.round(performance.now() - started) / 1000)
  if (ending.outputs !== null) await writeOutput(stdout, `${ending.outputs}\n`)
  return ending.code
}

/** `completed: 6 nodes in 1.2 s, 2 skipped`. */
function formatFinalTotal({ word }: RunEnding, { nodes, counts, elapsed }: RunProgress): string {
  const facts = [
    counts.skipped > 0 ? `${counts.skipped} skipped` : '',
    counts.error > 0 ? `${counts.error} failed` : '',
    counts.stopped + counts.not_run > 0 ? `${counts.stopped + counts.not_run} not finished` : '',
  ]
  const rest = facts.filter((fact) => fact !== '').join(', ')
  return `${word}: ${pluralize(nodes.length, 'node')} in ${formatDuration(elapsed)}${rest === '' ? '' : `, ${rest}`}`
}

/** Executes a run from the first firing to the last. Creates the services of its nodes, and disposes of them. */
async function executeRun(
  job: TerminalRun,
  observer: RunObserver,
  signal: AbortSignal,
  config: Config,
): Promise<RunEnding> {
  await using client = new UpstreamClient()
  using providers = createConfiguredProviders({ config, client })
  const models = new ModelService({ providers, model_lists: new ModelListCache({ now: Date.now }) })
  await using lent = createNodeServiceFactory(config, models)
  const { plan, params, called, timeout, vectors, redactor } = job
  const { billing, secret } = operatorResources(config)
  const services = lent.forOwner({
    secret: withTerminalSecretErrors(secret),
    billing: limitRunCost(config.max_cost_per_job, billing),
    assets: bundledAssetAccess,
    vectors,
    tools: createRunToolAccess(called, builtinRegistry),
    redact: (text) => redactor.text(text),
    redactTexts: async (texts) => texts.map((text) => redactor.text(text)),
  })
  const look = () => discoverModelServers(providers, { client }, signal)
  const own = withTerminalModelErrors(services.models, providers)
  const execution = executePlan(plan, {
    params,
    signal,
    observer,
    loadPlan: (id) => called.plan(id),
    memoryLimit: config.max_job_memory_bytes,
    services: { ...services, models: config.probe_local_models ? discoverOnFirstUse(own, look) : own },
    ...(timeout === null ? {} : { timeLimit: timeout * 1000 }),
  })
  endInputs(execution, plan)
  return toRunEnding(await execution.done, plan, signal, redactor)
}

/** No client can send further values, so nodes must not wait for missing params. */
function endInputs(execution: Execution, plan: Plan): void {
  for (const input of plan.inputs) if (input.stream) execution.endInput(input.name)
}

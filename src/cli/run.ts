// `svc run`: runs a workflow to its end in this process, on the engine itself: no server, and no database but what vectors need.
import type { Config } from '../config.ts'
import { type Execution, execute, type RunObserver } from '../engine/execution.ts'
import { isRunnable, type Plan } from '../engine/plan.ts'
import type { VectorAccess } from '../engine/services.ts'
import { configuredProviders } from '../models/configured.ts'
import { discover } from '../models/discovery.ts'
import { Listings } from '../models/listings.ts'
import { Models } from '../models/models.ts'
import { UpstreamClient } from '../net/upstream.ts'
import { builtinNodes } from '../nodes/registry.ts'
import { createServices, environmentSecrets } from '../services.ts'
import { afterLooking } from './after-looking.ts'
import { readArguments } from './arguments.ts'
import { type CalledWorkflows, calledWorkflows } from './called.ts'
import { compileFully } from './compile.ts'
import { graphIssue, issueLine, issueTotal } from './issues.ts'
import { bundledAssets, heldTo, openVectors, terminalTools } from './lent.ts'
import { LiveView, totalSoFar } from './live-view.ts'
import { modelsInTerminal, secretsInTerminal } from './own-words.ts'
import { readParams } from './params.ts'
import { Progress } from './progress.ts'
import { Reader } from './read.ts'
import { type Ending, endingOf } from './result.ts'
import { CommandError, EXIT, isLive, print, type Terminal, UsageError } from './terminal.ts'
import { counted, duration, inColour, plain } from './text.ts'
import { plainView, quietView } from './views.ts'
import { openWorkflow, type WorkflowFile } from './workflow-file.ts'

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
const LONGEST = 31_536_000

interface Job {
  readonly name: string
  readonly plan: Plan
  readonly params: Record<string, unknown>
  readonly called: CalledWorkflows
  /** Seconds, or null for no limit. */
  readonly timeout: number | null
  readonly vectors: VectorAccess
}

/** Runs the command and gives its exit code. @throws CommandError */
export async function run(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 1, what: 'FILE' })
  if (values.quiet && values['json-events']) throw new UsageError('--quiet and --json-events exclude each other')
  if (values.data === '') throw new UsageError('--data takes a folder')
  const timeout = values.timeout === undefined ? config.job_timeout_seconds : seconds(values.timeout)
  const reader = new Reader(terminal, config.max_body_bytes)
  const file = await openWorkflow(positionals[0]!, reader)
  const plan = await runnablePlan(file, terminal, values.quiet || values['json-events'])
  const called = await calledWorkflows(values.workflow, file.folder, builtinNodes, reader)
  const given = { param: values.param, params: values.params ?? null }
  const params = await readParams(plan, { ...file.params }, given, reader)
  await using vectors = await openVectors(values.data ?? null)
  const job = { name: file.name, plan, params, called, timeout, vectors: vectors.access }
  if (values['json-events']) return await withEvents(job, terminal, config)
  return await withProgress(job, terminal, config, values.quiet)
}

function seconds(text: string): number {
  const value = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= LONGEST) return value
  throw new UsageError(`--timeout takes seconds, more than 0 and at most ${LONGEST}, and is "${text}"`)
}

async function runnablePlan({ name, graph }: WorkflowFile, terminal: Terminal, quiet: boolean): Promise<Plan> {
  const compiled = await compileFully(graph, builtinNodes)
  const plan = isRunnable(compiled) ? compiled.plan : null
  const issues = compiled.issues.map(graphIssue)
  const paint = isLive(terminal.stderr, terminal.environment) ? inColour : plain
  const lines = issues.map((issue) => `${issueLine(issue, paint)}\n`)
  if ((!plan || !quiet) && lines.length > 0) await print(terminal.stderr, lines.join(''))
  if (plan) return plan
  throw new CommandError(EXIT.invalid, `${name} cannot run: ${issueTotal(issues)}`)
}

/** Runs with a view of its progress, or with none but of what goes wrong inside nodes. */
async function withProgress(job: Job, terminal: Terminal, config: Config, quiet: boolean): Promise<number> {
  const { stdout, stderr, stop, environment } = terminal
  const progress = new Progress(job.plan, () => performance.now())
  const total = () => `${totalSoFar(progress)}${stop.aborted ? ', cancelling (Ctrl-C again ends it at once)' : ''}`
  const live = !quiet && isLive(stderr, environment)
  const view = live ? new LiveView(progress, stderr, total) : quiet ? quietView(stderr) : plainView(progress, stderr)
  const ending = await perform(job, progress.observer(view), stop, config)
  progress.close()
  view.end(finalTotal(ending, progress))
  if (ending.error !== null) await print(stderr, `svc: ${ending.error}\n`)
  if (ending.outputs !== null) await print(stdout, `${ending.outputs}\n`)
  return ending.code
}

async function withEvents(job: Job, { stdout, stderr, stop }: Terminal, config: Config): Promise<number> {
  const { jsonEvents } = await import('./json-events.ts')
  const events = jsonEvents(job.name, stderr, config)
  const started = performance.now()
  const ending = await perform(job, events.observer, stop, config)
  events.end(ending.code, ending.error, Math.round(performance.now() - started) / 1000)
  if (ending.outputs !== null) await print(stdout, `${ending.outputs}\n`)
  return ending.code
}

/** `completed: 6 nodes in 1.2 s, 2 skipped`. */
function finalTotal({ word }: Ending, { nodes, counts, elapsed }: Progress): string {
  const facts = [
    counts.skipped > 0 ? `${counts.skipped} skipped` : '',
    counts.error > 0 ? `${counts.error} failed` : '',
    counts.stopped + counts.not_run > 0 ? `${counts.stopped + counts.not_run} not finished` : '',
  ]
  const rest = facts.filter((fact) => fact !== '').join(', ')
  return `${word}: ${counted(nodes.length, 'node')} in ${duration(elapsed)}${rest === '' ? '' : `, ${rest}`}`
}

/** One run from its first firing to its last. What its nodes are lent is made here, and let go here. */
async function perform(job: Job, observer: RunObserver, signal: AbortSignal, config: Config): Promise<Ending> {
  await using client = new UpstreamClient()
  using providers = configuredProviders({ config, client })
  const models = new Models({ providers, listings: new Listings({ now: Date.now }) })
  await using lent = createServices(config, models)
  const { plan, params, called, timeout, vectors } = job
  const { customer, secret } = environmentSecrets(config)
  const services = lent.of({
    secret: secretsInTerminal(secret),
    customer: heldTo(config.max_cost_per_job, customer),
    assets: bundledAssets,
    vectors,
    tools: terminalTools(called, builtinNodes),
  })
  const look = () => discover(providers, { client }, signal)
  const own = modelsInTerminal(services.models, providers)
  const execution = execute(plan, {
    params,
    signal,
    observer,
    loadPlan: (id) => called.plan(id),
    memoryLimit: config.max_job_memory_bytes,
    services: { ...services, models: config.probe_local_models ? afterLooking(own, look) : own },
    ...(timeout === null ? {} : { timeLimit: timeout * 1000 }),
  })
  endInputs(execution, plan)
  return endingOf(await execution.done, plan, signal)
}

/** Nobody can send anything more: what the params did not give is not to be waited for. */
function endInputs(execution: Execution, plan: Plan): void {
  for (const input of plan.inputs) if (input.stream) execution.endInput(input.name)
}

// `svc validate`: lists every problem of a workflow, and the inputs and outputs of a valid workflow.
import type { Config } from '../config.ts'
import { isRunnable, type Plan, type PlanInput } from '../engine/compile/compiler.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { formatType } from '../engine/node-api/values/type-metadata.ts'
import { parseToolTarget } from '../nodes/agent/tool-entries.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { parseArguments } from './shared/arguments.ts'
import { displayPath, InputReader } from './shared/input-reader.ts'
import { CommandError, EXIT_CODES, isInteractive, type Terminal, writeOutput } from './shared/terminal.ts'
import {
  displayWidth,
  fitToWidth,
  paintInColor,
  paintPlain,
  pluralize,
  toSingleLine,
  truncateToWidth,
} from './shared/terminal-text.ts'
import { type CalledWorkflows, resolveCalledWorkflows } from './workflow/called-workflows.ts'
import { compileGraphFully } from './workflow/graph-compilation.ts'
import {
  formatIssue,
  formatIssueTotal,
  issueFromGraph,
  issueFromProblem,
  type WorkflowIssue,
} from './workflow/issues.ts'
import { openWorkflowFile } from './workflow/workflow-file.ts'

const OPTIONS = {
  workflow: { type: 'string', multiple: true, default: [] as string[] },
  json: { type: 'boolean', default: false },
} as const

interface ValidationResult {
  readonly name: string
  readonly plan: Plan | null
  readonly edges: number
  readonly issues: readonly WorkflowIssue[]
}

/** Runs the command and returns its exit code. @throws CommandError */
export async function runValidateCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 1, most: 1, what: 'FILE' })
  const verdict = await validateFile(positionals[0]!, values.workflow, new InputReader(terminal, config.max_body_bytes))
  const paint = isInteractive(terminal.stdout, terminal.environment) ? paintInColor : paintPlain
  const lines = values.json ? [JSON.stringify(toJsonRecord(verdict), null, 2)] : formatReport(verdict, paint)
  await writeOutput(terminal.stdout, `${lines.join('\n')}\n`)
  return verdict.plan ? EXIT_CODES.completed : EXIT_CODES.invalid
}

async function validateFile(path: string, named: readonly string[], reader: InputReader): Promise<ValidationResult> {
  try {
    const { name, graph, folder } = await openWorkflowFile(path, reader)
    const compiled = await compileGraphFully(graph, builtinRegistry)
    const { issues } = compiled
    const plan = isRunnable(compiled) ? compiled.plan : null
    const called = await resolveCalledWorkflows(named, folder, builtinRegistry, reader)
    const all = [...issues.map(issueFromGraph), ...(plan ? await findCallIssues(plan, called) : [])]
    return { name, plan, edges: graph.edges.length, issues: all }
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== EXIT_CODES.invalid) throw error
    const { message, problems } = error
    const whole = { severity: 'error', code: 'not_a_workflow', message, node_id: null, pin_name: null } as const
    return {
      name: displayPath(path),
      plan: null,
      edges: 0,
      issues: problems.length > 0 ? problems.map(issueFromProblem) : [whole],
    }
  }
}

/** Calls and tools whose workflow is named in the graph and not found here. They are warnings, because the server of the workflow may have it. */
async function findCallIssues(plan: Plan, called: CalledWorkflows): Promise<WorkflowIssue[]> {
  const issues: WorkflowIssue[] = []
  for (const node of plan.nodes) {
    for (const { id, pin_name } of listNamedWorkflows(node)) {
      try {
        await called.workflow(id)
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        const { message, type: code } = error
        issues.push({ severity: 'warning', code, message, node_id: node.observed.node_id, pin_name })
      }
    }
  }
  return issues
}

/** The workflows that a node names itself, rather than by a value of an edge. */
function listNamedWorkflows({ observed: { node_type }, slots, constants }: Plan['nodes'][number]) {
  const own = (name: string) => (slots.some((slot) => slot.name === name) ? undefined : constants[name])
  const id = node_type === 'workflow.Call' ? own('workflow_id') : undefined
  const tools = node_type === 'agent.Run' ? own('tools') : undefined
  return [
    ...(typeof id === 'string' ? [{ id, pin_name: 'workflow_id' }] : []),
    ...(Array.isArray(tools) ? tools.flatMap(parseToolWorkflow).map((tool) => ({ id: tool, pin_name: 'tools' })) : []),
  ]
}

/** The workflow of an entry in an agent's tools; none: the entry names something else, or nothing. */
function parseToolWorkflow(entry: unknown, at: number): string[] {
  try {
    const target = parseToolTarget(entry, at, (node_type) => builtinRegistry.get(node_type) !== undefined)
    return 'workflow_id' in target ? [target.workflow_id] : []
  } catch {
    return []
  }
}

function toJsonRecord({ plan, issues }: ValidationResult) {
  const outputs = plan?.outputs.map(({ name, type, stream, description }) => ({
    name,
    type: formatType(type),
    stream,
    description,
  }))
  const inputs = plan?.inputs.map(({ type, ...input }) => ({ ...input, type: formatType(type) }))
  return { valid: plan !== null, issues, inputs: inputs ?? [], outputs: outputs ?? [] }
}

function formatReport({ name, plan, edges, issues }: ValidationResult, paint: typeof paintPlain): string[] {
  const lines = issues.map((issue) => formatIssue(issue, paint))
  const total = formatIssueTotal(issues)
  if (!plan) return [...lines, `${name} is ${paint('red', 'not valid')}: ${total}`]
  const size = `${pluralize(plan.nodes.length, 'node')}, ${pluralize(edges, 'edge')}`
  const verdict = `${name} is ${paint('green', 'valid')}: ${size}${total === '' ? '' : `, ${total}`}`
  const inputs = plan.inputs.map((input) => [input.name, formatPinType(input), formatDefault(input), input.description])
  const outputs = plan.outputs.map((output) => [output.name, formatPinType(output), '', output.description])
  return [...lines, verdict, ...formatTable('inputs', inputs), ...formatTable('outputs', outputs)]
}

function formatPinType({ type, stream }: { type: PlanInput['type']; stream: boolean }): string {
  return stream ? `stream of ${formatType(type)}` : formatType(type)
}

const LONGEST_DEFAULT = 30

function formatDefault({ required, stream, default: value }: PlanInput): string {
  if (required) return 'required'
  return stream ? '' : `default ${truncateToWidth(JSON.stringify(value), LONGEST_DEFAULT)}`
}

/** A title, and rows in columns as wide as they need to be. */
function formatTable(title: string, rows: readonly string[][]): string[] {
  if (rows.length === 0) return [`${title}: none`]
  const cells = rows.map((row) => row.map(toSingleLine))
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column]!))))
  return [
    `${title}:`,
    ...cells.map(
      (row) =>
        `  ${row
          .map((cell, at) => fitToWidth(cell, widths[at]!))
          .join('  ')
          .trimEnd()}`,
    ),
  ]
}

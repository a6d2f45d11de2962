// `svc validate`: everything that is wrong with a workflow, and what one that can run takes and gives.
import type { Config } from '../config.ts'
import { NodeError } from '../engine/node-type.ts'
import { isRunnable, type Plan, type PlanInput } from '../engine/plan.ts'
import { typeText } from '../engine/types.ts'
import { targetOf } from '../nodes/agent-entries.ts'
import { builtinNodes } from '../nodes/registry.ts'
import { readArguments } from './arguments.ts'
import { type CalledWorkflows, calledWorkflows } from './called.ts'
import { compileFully } from './compile.ts'
import { graphIssue, type Issue, issueLine, issueTotal, shapeIssue } from './issues.ts'
import { Reader, shownPath } from './read.ts'
import { CommandError, EXIT, isLive, print, type Terminal } from './terminal.ts'
import { counted, cut, fit, inColour, oneLine, plain, width } from './text.ts'
import { openWorkflow } from './workflow-file.ts'

const OPTIONS = {
  workflow: { type: 'string', multiple: true, default: [] as string[] },
  json: { type: 'boolean', default: false },
} as const

interface Verdict {
  readonly name: string
  readonly plan: Plan | null
  readonly edges: number
  readonly issues: readonly Issue[]
}

/** Runs the command and gives its exit code. @throws CommandError */
export async function validate(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 1, what: 'FILE' })
  const verdict = await judge(positionals[0]!, values.workflow, new Reader(terminal, config.max_body_bytes))
  const paint = isLive(terminal.stdout, terminal.environment) ? inColour : plain
  const lines = values.json ? [JSON.stringify(record(verdict), null, 2)] : report(verdict, paint)
  await print(terminal.stdout, `${lines.join('\n')}\n`)
  return verdict.plan ? EXIT.completed : EXIT.invalid
}

async function judge(path: string, named: readonly string[], reader: Reader): Promise<Verdict> {
  try {
    const { name, graph, folder } = await openWorkflow(path, reader)
    const compiled = await compileFully(graph, builtinNodes)
    const { issues } = compiled
    const plan = isRunnable(compiled) ? compiled.plan : null
    const called = await calledWorkflows(named, folder, builtinNodes, reader)
    const all = [...issues.map(graphIssue), ...(plan ? await callIssues(plan, called) : [])]
    return { name, plan, edges: graph.edges.length, issues: all }
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== EXIT.invalid) throw error
    const { message, problems } = error
    const whole = { severity: 'error', code: 'not_a_workflow', message, node_id: null, pin_name: null } as const
    return {
      name: shownPath(path),
      plan: null,
      edges: 0,
      issues: problems.length > 0 ? problems.map(shapeIssue) : [whole],
    }
  }
}

/** Calls and tools whose workflow is named in the graph and is not to be had here. It may be where the workflow will run, so these are warnings. */
async function callIssues(plan: Plan, called: CalledWorkflows): Promise<Issue[]> {
  const issues: Issue[] = []
  for (const node of plan.nodes) {
    for (const { id, pin_name } of namedBy(node)) {
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

/** The workflows that a node names itself, and not by what comes along an edge. */
function namedBy({ observed: { node_type }, slots, constants }: Plan['nodes'][number]) {
  const own = (name: string) => (slots.some((slot) => slot.name === name) ? undefined : constants[name])
  const id = node_type === 'workflow.Call' ? own('workflow_id') : undefined
  const tools = node_type === 'agent.Run' ? own('tools') : undefined
  return [
    ...(typeof id === 'string' ? [{ id, pin_name: 'workflow_id' }] : []),
    ...(Array.isArray(tools) ? tools.flatMap(workflowOf).map((tool) => ({ id: tool, pin_name: 'tools' })) : []),
  ]
}

/** The workflow that an entry of an agent's tools means; none where it means something else, or nothing. */
function workflowOf(entry: unknown, at: number): string[] {
  try {
    const target = targetOf(entry, at, (node_type) => builtinNodes.get(node_type) !== undefined)
    return 'workflow_id' in target ? [target.workflow_id] : []
  } catch {
    return []
  }
}

function record({ plan, issues }: Verdict) {
  const outputs = plan?.outputs.map(({ name, type, stream, description }) => ({
    name,
    type: typeText(type),
    stream,
    description,
  }))
  const inputs = plan?.inputs.map(({ type, ...input }) => ({ ...input, type: typeText(type) }))
  return { valid: plan !== null, issues, inputs: inputs ?? [], outputs: outputs ?? [] }
}

function report({ name, plan, edges, issues }: Verdict, paint: typeof plain): string[] {
  const lines = issues.map((issue) => issueLine(issue, paint))
  const total = issueTotal(issues)
  if (!plan) return [...lines, `${name} is ${paint('red', 'not valid')}: ${total}`]
  const size = `${counted(plan.nodes.length, 'node')}, ${counted(edges, 'edge')}`
  const verdict = `${name} is ${paint('green', 'valid')}: ${size}${total === '' ? '' : `, ${total}`}`
  const inputs = plan.inputs.map((input) => [input.name, pinType(input), given(input), input.description])
  const outputs = plan.outputs.map((output) => [output.name, pinType(output), '', output.description])
  return [...lines, verdict, ...table('inputs', inputs), ...table('outputs', outputs)]
}

function pinType({ type, stream }: { type: PlanInput['type']; stream: boolean }): string {
  return stream ? `stream of ${typeText(type)}` : typeText(type)
}

const LONGEST_DEFAULT = 30

function given({ required, stream, default: value }: PlanInput): string {
  if (required) return 'required'
  return stream ? '' : `default ${cut(JSON.stringify(value), LONGEST_DEFAULT)}`
}

/** A title, and rows in columns as wide as they need to be. */
function table(title: string, rows: readonly string[][]): string[] {
  if (rows.length === 0) return [`${title}: none`]
  const cells = rows.map((row) => row.map(oneLine))
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => width(row[column]!))))
  return [
    `${title}:`,
    ...cells.map(
      (row) =>
        `  ${row
          .map((cell, at) => fit(cell, widths[at]!))
          .join('  ')
          .trimEnd()}`,
    ),
  ]
}

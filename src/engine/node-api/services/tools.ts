// Workflows and node types as tools that models call.
import type { Steps } from '../../../shared/time-slices.ts'

/** The workflow call that executes one tool call. */
export interface ToolInvocation {
  /** The id for `callWorkflow`. */
  readonly workflow_id: string
  readonly params: Record<string, unknown>
  /** Whether the call may be repeated if an earlier one was interrupted. */
  readonly repeatable: boolean
}

/** The prefix of the ids of single-node workflows, which nodes create as tools for models. No other code uses such ids. */
export const SINGLE_NODE_PREFIX = 'node:'

/** The target of a tool: a workflow, or a node type with fixed values for those properties that are no arguments. */
export type ToolTarget =
  | { readonly workflow_id: string }
  | { readonly node_type: string; readonly data: Readonly<Record<string, unknown>> }

/** A workflow or a node type that a model may call, as described to the model. Plain data that can be stored. */
export interface ToolDescription {
  /** Letters, digits and _, unless another name was chosen. */
  readonly name: string
  readonly description: string
  /** A JSON schema of the arguments, an object. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly target: ToolTarget
}

export interface ResolvedTool extends ToolDescription {
  /** Argument types are checked during the call. @throws NodeError `bad_arguments` for unknown names */
  resolveCall(args: Record<string, unknown>): ToolInvocation
}

/** `workflow` and `node` throw NodeError `unknown_tool`. */
export interface ToolAccess {
  /** A workflow of the run's user. It may have very many inputs, so its description is built with `inSlices` (see `NodeContext`) and measured. */
  workflow(workflow_id: string, inSlices: <T>(steps: Steps<T>) => Promise<T>): Promise<ResolvedTool>
  /**
   * `data`: values of properties that are no arguments. `connected`: whether they came along an edge; if so, they may not refer to secrets,
   * in the tool's calls either.
   */
  node(node_type: string, data: Readonly<Record<string, unknown>>, connected: boolean): ResolvedTool
  /** A tool that was resolved earlier, unchanged. Never throws: a missing target fails the call. */
  restore(description: ToolDescription, connected: boolean): ResolvedTool
  isNode(node_type: string): boolean
}

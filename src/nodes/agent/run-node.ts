// agent.Run: a model that works by itself with tools. Tools are workflows of the user who runs it, and node types.
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { conversationProperties, listConversationNeeds } from '../chat/complete-node.ts'
import { conversationProblem } from '../chat/conversation.ts'
import { ECHO_MODEL, modelProblem, modelProperty, samplingProperties } from '../chat/model-calls.ts'
import { optionalProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { type AgentInputs, runAgent } from './loop.ts'
import { toolsProblem } from './tool-entries.ts'

const ECHO_CALLS_NO_TOOLS = `The model "${ECHO_MODEL}" calls no tools. Name one that does, such as openai/gpt-4o-mini, or leave out the tools.`

/** The built-in model repeats its input and never calls tools. */
function echoProblem({ data: { model, tools }, isConnected }: NodeFacts): NodeProblem | null {
  if (isConnected('model') || isConnected('tools') || model !== ECHO_MODEL || !Array.isArray(tools)) return null
  return tools.length === 0 ? null : { property: 'model', code: 'type_mismatch', message: ECHO_CALLS_NO_TOOLS }
}

/** An agent that has tools needs a model that can call tools. */
function listAgentNeeds(facts: NodeFacts): NodeNeed[] {
  const { tools } = facts.data
  const needs = listConversationNeeds(facts)
  if (facts.isConnected('tools') || !Array.isArray(tools) || tools.length === 0) return needs
  return needs.map((need) => (need.kind === 'model' ? { ...need, fields: [...(need.fields ?? []), 'tools'] } : need))
}

export const agentNodes: NodeType[] = [
  {
    node_type: 'agent.Run',
    title: 'Agent',
    description:
      'Lets a model work on a task with tools until it has an answer. Any workflow and most node types can be tools. Each turn and each tool call is remembered, so that an interruption repeats none of them.',
    properties: [
      modelProperty(),
      ...conversationProperties(),
      optionalProperty(
        'tools',
        'list[any]',
        'The tools that the model may call: workflow/<id>, a node type such as text.Template, or an object with workflow_id or node_type. The object may add a name, a description and, for a node type, the data that the model does not choose.',
        { default: [] },
      ),
      ...samplingProperties(),
      optionalProperty('max_steps', 'int', 'The most turns of the model. In the last one it may call no tool.', {
        default: 10,
        min: 1,
        max: 1000,
      }),
      optionalProperty(
        'max_tokens',
        'int?',
        'The most input and output tokens of all turns together, including failed turns.',
        {
          min: 1,
        },
      ),
      optionalProperty(
        'max_seconds',
        'float?',
        'The most time of all turns and calls together, over all attempts. Time spent waiting for people or between attempts does not count.',
        {
          min: 0.001,
          max: 1_000_000,
        },
      ),
      optionalProperty(
        'max_cost',
        'float?',
        'The most that all turns together may cost, including failed turns, in the currency of the model.',
        {
          min: 0,
        },
      ),
      optionalProperty(
        'max_failures',
        'int',
        'The agent fails after so many turns in a row in which every call failed.',
        {
          default: 3,
          min: 1,
          max: 1000,
        },
      ),
      optionalProperty(
        'max_result_characters',
        'int',
        'The most characters of a tool result that are sent to the model.',
        {
          default: 20_000,
          min: 100,
          max: 1_000_000,
        },
      ),
      optionalProperty('parallel', 'bool', 'Whether tools that are called in one turn run side by side.', {
        default: true,
      }),
    ],
    outputs: [
      { ...streamOutput('text', 'str'), stream_kind: 'text' },
      valueOutput('answer', 'str'),
      valueOutput('messages', 'list[dict[str,any]]'),
      valueOutput('steps', 'list[dict[str,any]]'),
      valueOutput('usage', 'dict[str,any]'),
    ],
    gives_all: true,
    effect: true,
    // The steps of the agent must not be done twice.
    resumes: true,
    needs: listAgentNeeds,
    problem: (facts, types) =>
      modelProblem(facts) ?? toolsProblem(facts, types) ?? echoProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => runAgent(inputs as AgentInputs, context),
  },
]

// The events of scripted jobs.
import type { JobEvent } from '../../../generated/types.ts'

export type ActiveJobStatus = Extract<JobEvent, { type: 'job_status' }>['status']

export interface ScriptedTerminalEvent {
  readonly type: 'job_terminal'
  readonly status: 'completed' | 'failed' | 'cancelled'
  /** The outputs of a completed job. */
  readonly outputs: Readonly<Record<string, unknown>>
}

/** An event without the members that all events have. */
export type ScriptedEvent = ScriptedTerminalEvent | Readonly<{ type: string; [field: string]: unknown }>
export type ScriptedEvents = readonly ScriptedEvent[]

export const GREETING = 'Hello, Ada!'

export function statusEvent(value: ActiveJobStatus, queue_position: number | null = null): ScriptedEvent {
  return { type: 'job_status', status: value, queue_position, message: null }
}

export function nodeEvent(value: 'running' | 'completed' | 'failed'): ScriptedEvent {
  const error = value === 'failed' ? { error: 'The template names "title", which has no value.' } : {}
  return {
    type: 'node_status',
    node_id: 'template',
    node_type: 'text.Template',
    status: value,
    progress: null,
    ...error,
  }
}

export function outputEvent(value: unknown = GREETING): ScriptedEvent {
  return { type: 'output_update', output_name: 'greeting', value }
}

export function completedEvent(greeting: unknown = GREETING): ScriptedEvent {
  return { type: 'job_terminal', status: 'completed', outputs: { greeting } }
}

export const failedEvent: ScriptedEvent = { type: 'job_terminal', status: 'failed', outputs: {} }
export const cancelledEvent: ScriptedEvent = { type: 'job_terminal', status: 'cancelled', outputs: {} }

/** Six events: accepted, running, a node that runs and completes, an output, and the end. */
export function greetingEvents(greeting: unknown = GREETING): ScriptedEvents {
  return [
    statusEvent('accepted'),
    statusEvent('running'),
    nodeEvent('running'),
    nodeEvent('completed'),
    outputEvent(greeting),
    completedEvent(greeting),
  ]
}

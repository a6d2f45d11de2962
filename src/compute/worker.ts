// What a thread that computes starts with: it lowers its own priority before it reads the node types.
import { lowerThread } from '../thread-priority.ts'

const thread = lowerThread()
const { serve } = await import('./serving.ts')
serve(thread)

// Operations of the tag `threads`: chat threads and messages as stored rows. Turns run on the socket.
import type { ThreadsHandlers } from '../../../generated/operations.ts'
import { createNextLink } from '../pipeline/pagination-links.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

export const threadsHandlers: ThreadsHandlers<RequestContext> = {
  async listThreads({ query }, { app, principal }) {
    const { items, next } = await app.chat.threads.list(principal, query)
    return { status: 200, body: items, headers: createNextLink('/api/threads', query, next) }
  },

  async createThread({ body }, { app, principal }) {
    const thread = await app.chat.threads.create(principal, body.title ?? null)
    return { status: 201, body: thread, headers: { Location: `/api/threads/${thread.id}` } }
  },

  getThread({ path }, { app, principal }) {
    return { status: 200, body: app.chat.threads.get(principal, path.id) }
  },

  async updateThread({ path, body }, { app, principal }) {
    return { status: 200, body: await app.chat.threads.rename(principal, path.id, body.title ?? null) }
  },

  async deleteThread({ path }, { app, principal }) {
    await app.chat.threads.delete(principal, path.id)
    return { status: 204 }
  },

  async listMessages({ path, query }, { app, principal }) {
    const { items, next } = await app.chat.threads.messages(principal, path.id, query)
    return { status: 200, body: items, headers: createNextLink(`/api/threads/${path.id}/messages`, query, next) }
  },

  async createMessage({ path, body }, { app, principal }) {
    return { status: 201, body: await app.chat.threads.add(principal, path.id, body) }
  },
}

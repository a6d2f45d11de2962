// What a page tries with a server of another origin. Each attempt says in one word how far it came: `blocked`, or what it got.
const ended = (element, insert = true) =>
  new Promise((resolve) => {
    element.onload = () => resolve('loaded')
    element.onerror = () => resolve('blocked')
    if (insert) document.body.append(element)
  })

const made = (tag, properties) => Object.assign(document.createElement(tag), properties)

const fetched = (url, options) =>
  fetch(url, options).then(
    async (response) =>
      response.type === 'opaque' ? 'opaque' : `${response.status} ${(await response.text()).slice(0, 60)}`,
    () => 'blocked',
  )

const sent = (url, type, body) =>
  fetch(url, { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': type }, body }).then(
    () => 'opaque',
    () => 'blocked',
  )

globalThis.attempts = {
  read: (url) => fetched(url),
  read_opaquely: (url) => fetched(url, { mode: 'no-cors' }),
  read_with_credentials: (url) => fetched(url, { credentials: 'include' }),
  script: (src) => ended(made('script', { src })),
  module: (src) => ended(made('script', { src, type: 'module' })),
  image: (src) => ended(made('img', { src })),
  video: (src) =>
    new Promise((resolve) => {
      const video = made('video', { src })
      video.onloadeddata = () => resolve('loaded')
      video.onerror = () => resolve('blocked')
      document.body.append(video)
    }),
  style: (href) => ended(made('link', { rel: 'stylesheet', href })),
  events: (url) =>
    new Promise((resolve) => {
      const source = new EventSource(url)
      source.onopen = () => resolve('open')
      source.onerror = () => resolve('blocked')
    }),
  socket: (url) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url)
      socket.onopen = () => resolve('open')
      socket.onerror = () => resolve('blocked')
    }),
  /** Runs over the socket, and gives the last frame of the job. */
  run_by_socket: (url, workflow_id) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url)
      socket.onerror = () => resolve('blocked')
      socket.onopen = () => {
        socket.send(JSON.stringify({ command: 'set_mode', data: { mode: 'text' } }))
        const params = { workflow_id, job_id: 'by-socket', params: { name: 'Ada' } }
        socket.send(JSON.stringify({ command: 'run_job', data: params }))
      }
      socket.onmessage = ({ data }) => {
        const frame = typeof data === 'string' ? JSON.parse(data) : {}
        if (frame.type === 'job_update' && ['completed', 'failed'].includes(frame.status)) resolve(frame.status)
      }
    }),
  post: (url, body) => fetched(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }),
  post_as_text: (url, body) => sent(url, 'text/plain', body),
  post_as_form: (url, body) => sent(url, 'application/x-www-form-urlencoded', body),
  beacon: (url, body) => String(navigator.sendBeacon(url, new Blob([body], { type: 'text/plain' }))),
  /** A form whose body is JSON, but for the `=` that ends up in a text of it. */
  form: async (action, body) => {
    const target = `frame-${Math.random()}`
    const frame = made('iframe', { name: target })
    document.body.append(frame)
    const form = made('form', { action, method: 'POST', enctype: 'text/plain', target })
    form.append(made('input', { name: `${body.slice(0, -1)},"x":"`, value: '"}' }))
    document.body.append(form)
    const done = ended(frame, false)
    form.submit()
    return done
  },
  frame: (src) => ended(made('iframe', { src })),
}

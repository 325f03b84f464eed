/** Where the proxy listens on the loopback of a sandbox. Not a port that anything else is known to use. */
export const PROXY_PORT = 39_128

/** Host names a command reaches by itself: its own sandbox. */
const NOT_PROXIED = 'localhost,127.0.0.1,::1'

/**
 * What makes common programs use the proxy that listens on the sandbox's loopback. `user` goes with every request and
 * says which command made it.
 */
export function proxyEnv(port: number, user: string): Record<string, string> {
  // Programs leave the user name out when there is no password; it is never looked at.
  const proxy = `http://${encodeURIComponent(user)}:x@127.0.0.1:${port}`
  // Silent, unlike JAVA_TOOL_OPTIONS, which writes to the errors of every Java program.
  const java = ['http', 'https'].map(it => `-D${it}.proxyHost=127.0.0.1 -D${it}.proxyPort=${port}`).join(' ')
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    // Not SOCKS, though that is spoken too: httpx, and so most Python clients of models, fails to start on seeing it.
    all_proxy: proxy,
    ALL_PROXY: proxy,
    no_proxy: NOT_PROXIED,
    NO_PROXY: NOT_PROXIED,
    // Node's fetch and http look at the others only then.
    NODE_USE_ENV_PROXY: '1',
    // Git sends the user name without being asked for it only then.
    GIT_HTTP_PROXY_AUTHMETHOD: 'basic',
    MAVEN_OPTS: java,
    GRADLE_OPTS: java,
  }
}

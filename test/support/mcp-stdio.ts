import type { MCPServer } from '../../src/api/mcp.ts'
import { PYTHON } from './inside.ts'

/** In the command line of every server below, and of nothing else. */
export const MARK = 'gantry-mcp-server'

/** A server of the way that its first argument names, for a sandbox: good, or bad in one way. */
const SCRIPT = `# ${MARK}
import json, os, subprocess, sys, threading, time
way = sys.argv[1]
lock = threading.Lock()
def send(message):
  with lock:
    sys.stdout.write(json.dumps({'jsonrpc': '2.0', **message}) + '\\n')
    sys.stdout.flush()
def tool(name, properties={}, **more):
  return {'name': name, 'description': 'Does ' + name, 'inputSchema': {'type': 'object', 'properties': properties, 'required': list(properties)}, **more}
text = {'text': {'type': 'string'}}
tools = [tool('echo', text, annotations={'readOnlyHint': True}), tool('env'), tool('fail'), tool('big', {'bytes': {'type': 'integer'}}), tool('crash'), tool('hang'),
  tool('change'), tool('picture', {'bytes': {'type': 'integer'}}), tool('start'), tool('ask'), tool('pid'),
  tool('regex', outputSchema={'type': 'object', 'properties': {'a': {'type': 'string', 'pattern': '^(a+)+$'}}})]
if way == 'other': tools = [tool('echo', text), tool('read.file/v2')]
if way == 'many': tools = [tool('tool%d' % n) for n in range(5000)] 
def say(id, said, **more): send({'id': id, 'result': {'content': [{'type': 'text', 'text': said}], **more}})
answers = {}
lists = 0
def call(id, name, given):
  if not any(tool['name'] == name for tool in tools): return send({'id': id, 'error': {'code': -32602, 'message': 'no such tool'}})
  if name == 'echo': say(id, way + ' heard ' + given['text'])
  elif name == 'env': say(id, json.dumps(dict(os.environ)) + os.getcwd())
  elif name == 'fail': say(id, 'it did not work', isError=True)
  elif name == 'big': say(id, 'begin' + 'x' * given['bytes'] + 'end')
  elif name == 'crash': sys.stderr.write('something broke\\n'); sys.stderr.flush(); os._exit(7)
  elif name == 'change':
    tools[:] = [tool('fresh')]
    for _ in range(200): send({'method': 'notifications/tools/list_changed'})
    say(id, 'changed')
  elif name == 'fresh': say(id, 'listed %d times' % lists)
  elif name == 'picture': send({'id': id, 'result': {'content': [{'type': 'image', 'mimeType': 'image/png', 'data': 'A' * given['bytes']}]}})
  elif name == 'start': subprocess.Popen(['sleep', '987654'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True); say(id, 'started')
  elif name == 'ask':
    answers['asked'] = id
    send({'id': 'asked', 'method': 'sampling/createMessage', 'params': {'messages': [], 'maxTokens': 1}})
  elif name == 'regex': send({'id': id, 'result': {'content': [], 'structuredContent': {'a': 'a' * 60 + '!'}}})
  elif name == 'pid': say(id, str(os.getpid()))
def flood():
  noise = json.dumps({'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x'}}) + '\\n'
  while True: sys.stdout.write(noise * 1000)
if way == 'crash': sys.exit('no database here')
if way == 'refuse-until' and not os.path.exists(sys.argv[2]): sys.exit('not yet')
if way == 'endless':
  while True: sys.stdout.write('x' * 65536)
if way == 'complain':
  while True: sys.stderr.write('x' * 65536)
if way == 'garbage':
  print('Listening on port 1234 {'); print('[1, 2]'); print('null'); sys.stdout.flush()
  time.sleep(1000)
if way == 'crash-loop': open('/workspace/crash-loop', 'a').write('started\\n')
if way == 'noisy': print('Welcome to the noisy server!'); print(); sys.stdout.flush()
if way == 'orphan':
  subprocess.Popen(['sleep', '987654'], start_new_session=True)
for line in sys.stdin:
  message = json.loads(line)
  method, id = message.get('method'), message.get('id')
  if way == 'hang': continue
  if method == 'initialize':
    version = '1999-01-01' if way == 'version' else message['params']['protocolVersion']
    send({'id': id, 'result': {'protocolVersion': version, 'capabilities': {'tools': {}}, 'serverInfo': {'name': way, 'version': '1'}}})
  elif method == 'tools/list':
    lists += 1
    send({'id': id, 'result': {'tools': tools}})
    if way == 'flood': threading.Thread(target=flood, daemon=True).start()
    if way == 'deaf': time.sleep(1000)
    if way == 'crash-loop': os._exit(9)
    if way == 'orphan': os._exit(0)
  elif method == 'tools/call': call(id, message['params']['name'], message['params'].get('arguments', {}))
  elif method == 'ping' and way != 'good-but-frozen': send({'id': id, 'result': {}})
  elif id in answers: say(answers[id], json.dumps(message.get('error')))
`

export const stdio = (way: string, more: Partial<MCPServer> = {}, ...args: string[]): MCPServer => ({
  command: PYTHON,
  args: ['-c', SCRIPT, way, ...args],
  enabled: true,
  ...more,
})

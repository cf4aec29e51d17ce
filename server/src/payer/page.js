// For old telephones too: nothing here is younger than 2012. Without it the page works for copy and paste, and a reload shows the state.
(() => {
  var doc = document;
  var body = doc.body;
  var version = body.getAttribute('data-version');
  var live = doc.getElementById('live');
  var timer = null;

  // biome-ignore lint/plugin: in the payer's browser, which has no ports
  var now = Date.now;

  function say(text) {
    live.textContent = '';
    window.setTimeout(() => {
      live.textContent = text;
    }, 50);
  }

  function get(url, done) {
    var request = new XMLHttpRequest();
    request.open('GET', url);
    request.onload = () => {
      if (request.status === 200) done(request.responseText);
    };
    request.send();
  }

  function begin() {
    var copy = doc.getElementById('copy');
    if (copy) {
      copy.hidden = false;
      copy.onclick = () => {
        var code = doc.getElementById('code');
        var done = () => {
          say(copy.getAttribute('data-done'));
          copy.textContent = copy.getAttribute('data-done');
        };
        code.focus();
        code.select();
        code.setSelectionRange(0, code.value.length);
        if (navigator.clipboard && window.isSecureContext)
          navigator.clipboard.writeText(code.value).then(done, () => {});
        else if (doc.execCommand('copy')) done();
      };
    }
    count(doc.getElementById('left'), now());
  }

  // By the time that was left when the page was made, and not by the telephone's clock.
  function count(left, since) {
    window.clearInterval(timer);
    if (!left) return;
    var all = Number(left.getAttribute('data-ms'));
    var show = () => {
      var seconds = Math.max(0, Math.floor((all - (now() - since)) / 1000));
      if (seconds > 3600) return;
      var rest = seconds % 60;
      left.textContent =
        ' ' +
        left.getAttribute('data-label') +
        ' ' +
        Math.floor(seconds / 60) +
        ':' +
        (rest < 10 ? '0' : '') +
        rest;
    };
    show();
    timer = window.setInterval(show, 1000);
  }

  function changed(next) {
    if (!next || next === version) return;
    version = next;
    get(location.href, (text) => {
      var from = text.indexOf('<!--main-->');
      var to = text.indexOf('<!--/main-->');
      var words = /<main id="main" data-say="([^"]*)"/.exec(text);
      if (from < 0 || to < 0) return;
      var main = doc.getElementById('main');
      main.innerHTML = text.slice(from, to);
      var holder = doc.createElement('textarea');
      holder.innerHTML = words ? words[1] : '';
      if (holder.value) {
        say(holder.value);
        doc.title = holder.value;
      }
      begin();
    });
  }

  function look() {
    get(body.getAttribute('data-state'), (text) => {
      changed(JSON.parse(text).version);
    });
  }

  var polling = false;

  function poll() {
    if (polling) return;
    polling = true;
    window.setInterval(look, 4000);
  }

  function follow() {
    if (!window.EventSource) return poll();
    var events = new window.EventSource(body.getAttribute('data-events'));
    events.onmessage = (event) => {
      changed(event.data);
    };
    events.onerror = () => {
      if (events.readyState === 2) poll();
    };
  }

  begin();
  if (version) {
    follow();
    // Back from the bank's app, or from the history.
    window.addEventListener('pageshow', (event) => {
      if (event.persisted) look();
    });
    doc.addEventListener('visibilitychange', () => {
      if (!doc.hidden) look();
    });
  }
})();
